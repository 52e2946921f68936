import { fits } from '../core/fits.ts';

const PATTERN = /^([a-z*][a-z0-9+.*-]*):\/\/([^/?#@\s]+)([/?#]\S*)?$/i;
const PRINTABLE = /^[\x21-\x7e]+$/;

/** Whether a text can be a pattern of URLs: `*`, or scheme, host and perhaps a path, each with `*` for any characters. */
export function isUrlPattern(text: string): boolean {
  return text === '*' || (PRINTABLE.test(text) && PATTERN.test(text));
}

/**
 * Whether a URL fits a pattern. Scheme, host and path are compared one by one, so a `*` in the
 * host cannot swallow the path: `https://*.example.com/*` does not fit `https://evil.test/.example.com/`.
 * A pattern without a path stands for all paths.
 */
export function matchesUrl(pattern: string, text: string): boolean {
  if (pattern === '*') return true;
  const [, scheme, host, path] = PATTERN.exec(pattern) ?? [];
  if (scheme === undefined || host === undefined || !URL.canParse(text)) return false;
  const url = new URL(text);
  return (
    fits(scheme.toLowerCase(), url.protocol.slice(0, -1)) &&
    fits(host.toLowerCase(), url.host.replace(/\.(?=:|$)/, '')) &&
    (path === undefined || fitsPath(path, url))
  );
}

// `%61dmin` and `admin` are one path to most servers.
function fitsPath(pattern: string, { pathname, search }: URL): boolean {
  const path = `${pathname}${search}`;
  return fits(pattern, path) || fits(pattern, decoded(path));
}

function decoded(path: string): string {
  return path.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
