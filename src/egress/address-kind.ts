import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** The network of an IP address: internet, this machine, private network, or one that is never fetched from. */
export type AddressKind = 'public' | 'loopback' | 'private' | 'refused';

type Family = 'ipv4' | 'ipv6';

// Metadata services of cloud providers give credentials to every caller, so they come before the private ranges.
const METADATA = subnets(['100.100.100.200/32', '168.63.129.16/32', '169.254.0.0/16', 'fd00:ec2::254/128']);
const LOOPBACK = subnets(['127.0.0.0/8', '::1/128']);
const PRIVATE = subnets(['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']);
const SPECIAL_IPV4 = subnets([
  '0.0.0.0/8',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]);
const GLOBAL_IPV6 = subnets(['2000::/3']);
// Tunnels that carry another address inside, and ranges for documentation.
const SPECIAL_IPV6 = subnets(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);
const NAT64 = subnets(['64:ff9b::/96']);

/** Returns the kind of an address; `refused` unless it is certainly one of the others. */
export function addressKind(address: string): AddressKind {
  if (isIPv4(address)) return kindOfIpv4(address);
  if (!isIPv6(address) || address.includes('%')) return 'refused';
  const groups = groupsOf(address);
  // An IPv4-mapped address could hide a private IPv4 address. No name server needs to return one.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return 'refused';
  if (NAT64.check(address, 'ipv6')) return kindOfIpv4(lastAsIpv4(groups)) === 'public' ? 'public' : 'refused';
  if (METADATA.check(address, 'ipv6')) return 'refused';
  if (LOOPBACK.check(address, 'ipv6')) return 'loopback';
  if (PRIVATE.check(address, 'ipv6')) return 'private';
  return GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6') ? 'public' : 'refused';
}

function kindOfIpv4(address: string): AddressKind {
  if (METADATA.check(address) || SPECIAL_IPV4.check(address)) return 'refused';
  if (LOOPBACK.check(address)) return 'loopback';
  return PRIVATE.check(address) ? 'private' : 'public';
}

function subnets(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', bits] = range.split('/');
    const family: Family = isIPv4(net) ? 'ipv4' : 'ipv6';
    list.addSubnet(net, Number(bits), family);
  }
  return list;
}

function groupsOf(address: string): readonly number[] {
  // The URL parser writes the last 32 bits in hexadecimal too, so there is one form to read.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = canonical.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}

function lastAsIpv4(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
