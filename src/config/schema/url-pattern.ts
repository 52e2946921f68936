import { matchesGlob } from '../../core/text/match-glob.ts';

const PRINTABLE = /^[\x21-\x7e]+$/;
const PATTERN = /^([a-z*][a-z0-9+.*-]*):\/\/(\[[0-9a-f:.*]+\]|[^/?#@:[\]\s]+)(?::([\d*]*))?([/?#]\S*)?$/i;
const WILD_HOST = /^(?:[a-z0-9._*-]+|\[.*\])$/i;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'ws:': '80', 'https:': '443', 'wss:': '443' };

/** A pattern in the form that URLs have after parsing. */
interface Pattern {
  readonly scheme: string;
  readonly host: string;
  /** The port, or '' if the pattern has none. */
  readonly port: string;
  readonly path?: string;
}

/** Returns true for `*`, and for a scheme, a host and perhaps a port and a path, each with `*` for any characters. */
export function isUrlPattern(text: string): boolean {
  return text === '*' || parsePattern(text) !== undefined;
}

/**
 * Returns true if a URL matches a pattern. Scheme, host, port and path are compared one by one, so a `*` in the
 * host cannot reach the path: `https://*.example.com/*` does not match `https://evil.test/.example.com/`.
 * A pattern without a port covers the default port of the URL's scheme; the host `*` without a port covers every port.
 * A pattern without a path covers all paths. A path without `*` is exact, query included.
 * A pattern that denies also covers its path with any query, with path parameters and with a slash at the end.
 * A pattern that denies this machine covers all of its loopback names, `0.0.0.0` and `[::]`.
 * Port 0 stands for a port that is not known yet: the port `*` allows it, and any port denies it.
 */
export function matchesUrl(pattern: string, text: string, effect: 'allow' | 'deny' = 'allow'): boolean {
  if (pattern === '*') return true;
  const parsed = parsePattern(pattern);
  if (parsed === undefined || !URL.canParse(text)) return false;
  const { scheme, host, port, path } = parsed;
  const url = new URL(text);
  const fitsPort =
    (effect === 'deny' && url.port === '0') ||
    (port === '' ? url.port === '' || /^\*+$/.test(host) : matchesGlob(port, portOf(url)));
  if (!fitsPort || !matchesGlob(scheme, url.protocol.slice(0, -1)) || !fitsHost(host, url.hostname, effect))
    return false;
  if (path === undefined) return true;
  const found = plainPath(url);
  const whole = found + decoded(url.search);
  if (effect === 'allow') return matchesGlob(path, whole) && !hidesDots(found);
  const [start = ''] = found.split(/%3F|%23/, 1);
  const paths = [whole, found, start, start.replace(/;[^/]*/g, '')];
  return paths.some((one) => matchesGlob(path, one) || matchesGlob(withoutSlash(path), withoutSlash(one)));
}

function parsePattern(text: string): Pattern | undefined {
  const [, scheme, name = '', port = '', path] = (PRINTABLE.test(text) && PATTERN.exec(text)) || [];
  const host = plainHost(name);
  if (scheme === undefined || host === undefined || Number(port) > 65_535) return undefined;
  const start = { scheme: scheme.toLowerCase(), host, port: port.replace(/^0+(?=\d)/, '') };
  if (path === undefined) return start;
  const url = new URL(`http://host${path}`);
  return { ...start, path: plainPath(url) + decoded(url.search) };
}

const portOf = ({ port, protocol }: URL) => port || (DEFAULT_PORTS[protocol] ?? '');

/** Returns a host as the URL parser writes it: lower case, decoded, addresses in their shortest form. */
function plainHost(name: string): string | undefined {
  if (name.includes('*')) return WILD_HOST.test(name) ? withoutDot(name.toLowerCase()) : undefined;
  return URL.canParse(`http://${name}`) ? plainAddress(new URL(`http://${name}`).hostname) : undefined;
}

function fitsHost(host: string, hostname: string, effect: 'allow' | 'deny'): boolean {
  const plain = plainAddress(hostname);
  if (matchesGlob(host, plain)) return true;
  if (effect === 'allow') return false;
  const isLocal = THIS_MACHINE.test(plain);
  if (isLocal && (THIS_MACHINE.test(host) || LOOPBACK_NAMES.some((name) => matchesGlob(host, name)))) return true;
  return matchesGlob(host, hostname);
}

// The unspecified address connects to this machine, like its loopback addresses.
const THIS_MACHINE = /^(?:0\.0\.0\.0|\[::1?\]|127\.\d+\.\d+\.\d+|(?:.+\.)?localhost)$/;
const LOOPBACK_NAMES = ['127.0.0.1', '[::1]', 'localhost'];
const MAPPED = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/** Returns a parsed host in one spelling: without a dot at the end, and an IPv4 address in IPv6 as IPv4. */
function plainAddress(hostname: string): string {
  const [, high, low] = MAPPED.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return withoutDot(hostname);
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join('.');
}

const withoutDot = (hostname: string) => hostname.replace(/\.$/, '');

const withoutSlash = (path: string) => path.replace(/\/$/, '');

/**
 * Returns a path in one spelling, because `%61dmin`, `x/..%2fadmin`, `/admin` and `admin` are one path to most servers.
 * `#`, `%`, `*` and `?` stay encoded: decoded they would have another meaning.
 */
function plainPath({ pathname }: URL): string {
  return new URL(`http://host${decoded(pathname).replace(/[/\\]+/g, '/')}`).pathname;
}

/** Returns true if a server that drops path parameters, or decodes twice, may read a dot segment in the path. */
function hidesDots(path: string): boolean {
  const twice = path
    .replace(/%25/g, '%')
    .replace(/%2e/gi, '.')
    .replace(/%(?:2f|5c)/gi, '/');
  return /\/\.{1,2}(?:\/|$)/.test(twice.replace(/%[01][0-9a-f]/gi, '').replace(/(?:;|%3b)[^/]*/gi, ''));
}

function decoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (whole, code: string) =>
    /^(?:2[35a]|3f|[01].|7f|[89a-f].)$/i.test(code)
      ? whole.toUpperCase()
      : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
