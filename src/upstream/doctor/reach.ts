import { connect } from 'node:net';

const REACH_MS = 3000;

export interface Reach {
  readonly host: string;
  readonly port: number;
  /** Duration of the connect; undefined when it failed. */
  readonly ms?: number;
  readonly reason?: string;
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'ws:': 80, 'https:': 443, 'wss:': 443 };

/** Tests whether the host and port of a URL accept a connection. Sends nothing. */
export function reach(url: URL, signal: AbortSignal): Promise<Reach> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (DEFAULT_PORTS[url.protocol] ?? 443);
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal });
    const end = (outcome: Partial<Reach>) => {
      socket.destroy();
      resolve({ host, port, ...outcome });
    };
    socket.setTimeout(REACH_MS, () => end({ reason: `it did not answer within ${REACH_MS} ms` }));
    socket.once('connect', () => end({ ms: Math.round(performance.now() - startedAt) }));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => end({ reason: REASONS[code ?? ''] ?? `${code}` }));
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that network',
  ABORT_ERR: 'it was interrupted',
};
