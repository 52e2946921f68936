import type { IncomingMessage } from 'node:http';

export interface HostRules {
  /** Further Host headers to accept, with or without a port. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Why a request must be refused for where it says it is going or coming from.
 * A web page that rebinds its own name to this machine is stopped here.
 */
export function checkHost(
  { headers }: IncomingMessage,
  { allowedHosts, allowedOrigins }: HostRules,
): string | undefined {
  const host = headers.host?.toLowerCase() ?? '';
  const name = host.replace(/:\d+$/, '');
  const isAllowed = allowedHosts.some((one) => [host, name].includes(one.toLowerCase()));
  if (!LOOPBACK.has(name) && !isAllowed) {
    return `The host ${JSON.stringify(host.slice(0, 100))} is not served here. Add it to \`gateway.allowedHosts\`.`;
  }
  const { origin } = headers;
  if (origin === undefined || origin === `http://${host}` || allowedOrigins.includes(origin)) return undefined;
  return `Pages of ${JSON.stringify(origin.slice(0, 100))} may not call. Add the origin to \`gateway.allowedOrigins\`.`;
}
