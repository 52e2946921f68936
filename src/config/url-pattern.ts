import { fits } from '../core/fits.ts';

const PRINTABLE = /^[\x21-\x7e]+$/;
const PATTERN = /^([a-z*][a-z0-9+.*-]*):\/\/(\[[0-9a-f:.*]+\]|[^/?#@:[\]\s]+)(?::([\d*]*))?([/?#]\S*)?$/i;
const WILD_HOST = /^(?:[a-z0-9._*-]+|\[.*\])$/i;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'ws:': '80', 'https:': '443', 'wss:': '443' };

/** A pattern in the form that URLs have after parsing. */
interface Pattern {
  readonly scheme: string;
  readonly host: string;
  readonly path?: string;
}

/** Returns true for `*`, and for a scheme, a host and perhaps a port and a path, each with `*` for any characters. */
export function isUrlPattern(text: string): boolean {
  return text === '*' || parsePattern(text) !== undefined;
}

/**
 * Returns true if a URL fits a pattern. Scheme, host and path are compared one by one, so a `*` in the
 * host cannot reach the path: `https://*.example.com/*` does not fit `https://evil.test/.example.com/`.
 * A pattern without a port covers the default port of the URL's scheme, and one without a path covers all paths.
 */
export function matchesUrl(pattern: string, text: string): boolean {
  if (pattern === '*') return true;
  const parsed = parsePattern(pattern);
  if (parsed === undefined || !URL.canParse(text)) return false;
  const { scheme, host, path } = parsed;
  const url = new URL(text);
  const hostname = withoutDot(url.hostname);
  const port = url.port || DEFAULT_PORTS[url.protocol];
  return (
    fits(scheme, url.protocol.slice(0, -1)) &&
    (fits(host, `${hostname}:${port}`) || (url.port === '' && fits(host, hostname))) &&
    (path === undefined || fits(path, plainPath(url)))
  );
}

function parsePattern(text: string): Pattern | undefined {
  const [, scheme, name = '', port = '', path] = (PRINTABLE.test(text) && PATTERN.exec(text)) || [];
  const hostname = plainHost(name);
  if (scheme === undefined || hostname === undefined || Number(port) > 65_535) return undefined;
  const host = port === '' ? hostname : `${hostname}:${port.replace(/^0+(?=\d)/, '')}`;
  const paths = path === undefined ? {} : { path: plainPath(new URL(`http://host${path}`)) };
  return { scheme: scheme.toLowerCase(), host, ...paths };
}

/** Returns a host as the URL parser writes it: lower case, decoded, addresses in their shortest form. */
function plainHost(name: string): string | undefined {
  if (name.includes('*')) return WILD_HOST.test(name) ? withoutDot(name.toLowerCase()) : undefined;
  return URL.canParse(`http://${name}`) ? withoutDot(new URL(`http://${name}`).hostname) : undefined;
}

const withoutDot = (hostname: string) => hostname.replace(/\.$/, '');

/**
 * Returns path and query in one spelling, because `%61dmin`, `x/..%2fadmin` and `admin` are one path to most servers.
 * Stays encoded: `#`, `%`, `*` and `?`, which would mean something else when decoded.
 */
function plainPath({ pathname, search }: URL): string {
  return `${new URL(`http://host${decoded(pathname)}`).pathname}${decoded(search)}`;
}

function decoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (whole, code: string) =>
    /^(?:2[35a]|3f|[01].|7f|[89a-f].)$/i.test(code)
      ? whole.toUpperCase()
      : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
