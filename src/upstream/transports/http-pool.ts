import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { HeddleError } from '../../core/errors.ts';

/** The sockets to all remote servers. Nothing is loaded before the first of them is needed. */
export interface HttpPool {
  /** Goes through the proxy that the environment names, except to this machine. */
  agent(url: URL): Promise<Dispatcher>;
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const GOODBYE_MS = 300;
// Deadlines are the peer's: a stream may be silent for days.
const PATIENT = { headersTimeout: 0, bodyTimeout: 0, pipelining: 1 } as const;

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
      direct ??= import('undici').then(({ Agent }) => new Agent(PATIENT));
      return direct;
    },
    async close() {
      const open = (await Promise.all([direct, proxied?.catch(() => undefined)])).filter((one) => one !== undefined);
      // What was said last, the goodbye to a session, gets a moment to leave.
      await Promise.race([Promise.all(open.map((one) => one.close())), wait(GOODBYE_MS, undefined, { ref: false })]);
      await Promise.all(open.map((one) => one.destroy()));
    },
  };
}

/** Whether a host is this machine, whatever a name server would say. */
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
    return new EnvHttpProxyAgent({ ...PATIENT, ...options });
  } catch (cause) {
    throw new HeddleError('CONFIG_INVALID', 'The proxy that HTTP_PROXY or HTTPS_PROXY names is no address.', {
      fix: 'Write it as `http://host:port`.',
      cause,
    });
  }
}

// An empty text, not undefined: else undici looks into the environment of the process.
function proxyOf(env: Environment, name: string): string {
  const written = env[name] || env[name.toUpperCase()] || '';
  return written === '' || written.includes('://') ? written : `http://${written}`;
}
