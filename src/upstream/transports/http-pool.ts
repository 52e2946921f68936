import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { HeddleError } from '../../core/errors.ts';

/** The sockets to all remote servers. undici is loaded with the first request. */
export interface HttpPool {
  /** Returns the dispatcher for a URL: through the proxy of the environment, except for loopback addresses. */
  agent(url: URL): Promise<Dispatcher>;
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const CLOSE_MS = 300;
// The peer has the deadlines. A stream may be silent for days.
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0, pipelining: 1 } as const;

export function httpPool(env: Environment = process.env): HttpPool {
  const proxies = { httpProxy: proxyOf(env, 'http_proxy'), httpsProxy: proxyOf(env, 'https_proxy') };
  let direct: Promise<Dispatcher> | undefined;
  let proxied: Promise<Dispatcher> | undefined;
  return {
    agent(url) {
      if ((proxies.httpProxy || proxies.httpsProxy) && !isLoopback(url.hostname)) {
        proxied ??= openProxied({ ...proxies, noProxy: env.no_proxy ?? env.NO_PROXY ?? '' });
        return proxied;
      }
      direct ??= import('undici').then(({ Agent }) => new Agent(NO_TIMEOUTS));
      return direct;
    },
    async close() {
      const open = (await Promise.all([direct, proxied?.catch(() => undefined)])).filter((one) => one !== undefined);
      // The DELETE of a session gets 300 ms.
      await Promise.race([Promise.all(open.map((one) => one.close())), wait(CLOSE_MS, undefined, { ref: false })]);
      await Promise.all(open.map((one) => one.destroy()));
    },
  };
}

/** Returns true for the loopback names and addresses, without DNS. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])\.?$/i.test(hostname);
}

async function openProxied(options: {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  readonly noProxy: string;
}): Promise<Dispatcher> {
  const { EnvHttpProxyAgent } = await import('undici');
  try {
    return new EnvHttpProxyAgent({ ...NO_TIMEOUTS, ...options });
  } catch (cause) {
    throw new HeddleError('CONFIG_INVALID', 'The proxy that HTTP_PROXY or HTTPS_PROXY names is not a URL.', {
      fix: 'Write it as `http://host:port`.',
      cause,
    });
  }
}

// An empty string, because undici reads the process environment for undefined.
function proxyOf(env: Environment, name: string): string {
  const written = env[name] || env[name.toUpperCase()] || '';
  return written === '' || written.includes('://') ? written : `http://${written}`;
}
