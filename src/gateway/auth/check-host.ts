import { isLoopbackHost } from '../../core/text/loopback-host.ts';
import type { RequestHead } from '../http-request.ts';

export interface HostRules {
  /** Additional accepted Host headers, with or without a port. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The address at which browsers reach the gateway: its host and origin are accepted too. */
  readonly publicAddress?: () => string | undefined;
}

/**
 * Returns the reason why a browser may not send this form: its page is of another origin. Browsers send `Origin` with
 * every form, so a request without one is not from another page.
 */
export function checkOwnOrigin({ headers }: RequestHead, publicUrl: string | undefined): string | undefined {
  const { origin } = headers;
  if (origin === undefined) return undefined;
  const host = headers.host?.toLowerCase() ?? '';
  const own = publicUrl === undefined ? undefined : new URL(publicUrl);
  // A proxy may replace the host. A page of http://<public host> is not one of https://<public host>.
  if (origin === own?.origin || (host !== own?.host && origin === `http://${host}`)) return undefined;
  return `A page of ${JSON.stringify(origin.slice(0, 100))} sent this form. Open the link itself, and continue there.`;
}

/**
 * Returns a check of the Host and Origin headers, whose result is the reason for a refusal.
 * It stops DNS rebinding: a web page that resolves its own name to this machine.
 */
export function hostChecker(rules: HostRules): (request: RequestHead) => string | undefined {
  const { allowedHosts, allowedOrigins } = rules;
  const publicAddress = () => {
    const url = rules.publicAddress?.();
    return url === undefined ? undefined : new URL(url);
  };
  const isServed = (host: string) => {
    const name = host.replace(/:\d+$/, '');
    if (isLoopbackHost(name) || host === publicAddress()?.host) return true;
    return allowedHosts.some((allowed) => [host, name].includes(allowed.toLowerCase()));
  };
  // The last accepted host: clients mostly send the same one.
  let lastServed: string | undefined;

  return function checkHost({ headers }) {
    const host = headers.host?.toLowerCase() ?? '';
    if (host !== lastServed) {
      if (!isServed(host)) {
        return `The host ${JSON.stringify(host.slice(0, 100))} is not allowed. Add it to \`gateway.allowedHosts\`.`;
      }
      lastServed = host;
    }
    const { origin } = headers;
    if (origin === undefined || origin === `http://${host}` || allowedOrigins.includes(origin)) return undefined;
    if (origin === publicAddress()?.origin) return undefined;
    return `Pages of ${JSON.stringify(origin.slice(0, 100))} may not call. Add the origin to \`gateway.allowedOrigins\`.`;
  };
}
