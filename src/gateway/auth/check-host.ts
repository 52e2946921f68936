import type { RequestHead } from '../http-request.ts';

export interface HostRules {
  /** Further Host headers to accept, with or without a port. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Finds why a request must be refused for where it says it is going or coming from.
 * A web page that rebinds its own name to this machine is stopped here.
 */
export function hostChecker({ allowedHosts, allowedOrigins }: HostRules): (request: RequestHead) => string | undefined {
  const isServed = (host: string) => {
    const name = host.replace(/:\d+$/, '');
    return LOOPBACK.has(name) || allowedHosts.some((one) => [host, name].includes(one.toLowerCase()));
  };
  // Clients go where they went before.
  let served: string | undefined;

  return function checkHost({ headers }) {
    const host = headers.host?.toLowerCase() ?? '';
    if (host !== served) {
      if (!isServed(host)) {
        return `The host ${JSON.stringify(host.slice(0, 100))} is not served here. Add it to \`gateway.allowedHosts\`.`;
      }
      served = host;
    }
    const { origin } = headers;
    if (origin === undefined || origin === `http://${host}` || allowedOrigins.includes(origin)) return undefined;
    return `Pages of ${JSON.stringify(origin.slice(0, 100))} may not call. Add the origin to \`gateway.allowedOrigins\`.`;
  };
}
