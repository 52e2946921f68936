import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';

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
  const proxied = new Map<string, Promise<Dispatcher>>();
  let direct: Promise<Dispatcher> | undefined;
  const hasProxy = ['http_proxy', 'https_proxy'].some((name) => env[name] || env[name.toUpperCase()]);

  async function throughProxy(uri: string): Promise<Dispatcher> {
    const known = proxied.get(uri);
    if (known) return known;
    const opened = import('../../egress/proxy-agent.ts').then(({ openProxyAgent }) => openProxyAgent(uri, NO_TIMEOUTS));
    proxied.set(uri, opened);
    return opened;
  }

  return {
    async agent(url) {
      const { proxyFor } = hasProxy ? await import('../../egress/proxy-for.ts') : { proxyFor: () => undefined };
      const proxy = proxyFor(url, env);
      if (proxy !== undefined) return throughProxy(proxy);
      direct ??= import('undici').then(({ Agent }) => new Agent(NO_TIMEOUTS));
      return direct;
    },
    async close() {
      const opening = [direct, ...[...proxied.values()].map((one) => one.catch(() => undefined))];
      const open = (await Promise.all(opening)).filter((one) => one !== undefined);
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
