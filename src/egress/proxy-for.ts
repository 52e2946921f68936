import { isLoopbackUrl } from './address-source.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * Returns the proxy of the environment for a URL; undefined to connect directly: without a proxy, for loopback, and for
 * the hosts of NO_PROXY. https uses HTTPS_PROXY, else HTTP_PROXY.
 */
export function proxyFor(url: URL, env: Environment): string | undefined {
  const plain = proxyIn(env, 'http_proxy');
  const proxy = (url.protocol === 'https:' && proxyIn(env, 'https_proxy')) || plain;
  if (!proxy || isLoopbackUrl(url.href)) return undefined;
  const excluded = (env.no_proxy ?? env.NO_PROXY ?? '').split(/[,\s]+/).filter((entry) => entry !== '');
  return excluded.some((entry) => matches(url, entry)) ? undefined : proxy;
}

function proxyIn(env: Environment, name: string): string {
  const written = env[name] || env[name.toUpperCase()] || '';
  return written === '' || written.includes('://') ? written : `http://${written}`;
}

/** Tests an entry of NO_PROXY: `*`, a host with its subdomains, or `*.host` for the subdomains alone, each with a port or without. */
function matches(url: URL, entry: string): boolean {
  const [, name = '', port] = /^(\[.+\]|[^:]*|.*:.*:.*?)(?::(\d+))?$/.exec(entry) ?? [];
  if (port !== undefined && port !== (url.port || DEFAULT_PORTS[url.protocol])) return false;
  if (name === '*') return true;
  const host = bareName(url.hostname);
  const excluded = bareName(name.replace(/^\*?\./, ''));
  if (excluded === '') return false;
  return host.endsWith(`.${excluded}`) || (host === excluded && !name.startsWith('*'));
}

const bareName = (host: string) =>
  host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
