import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Timer } from '../../core/time.ts';
import { raiseTimeout } from '../protocol/connect-timeout.ts';

export interface ConnectDeadlineOptions {
  readonly server: string;
  /** Deadline of each step: the probe, a second handshake after the server ended at the probe, the first list. */
  readonly timeoutMs: number;
  /** Runs a connect when fewer than the allowed number of connects are running. */
  readonly limited: <T>(task: () => Promise<T>) => Promise<T>;
  readonly timer: Timer;
  /** Aborted when the connection is no longer wanted. */
  readonly wanted: AbortSignal;
}

const STEPS = 3;

/** Runs a task that opens a connection. Aborts it after 3 times `timeoutMs`, counted from its start. */
export function withConnectDeadline<T>(
  options: ConnectDeadlineOptions,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { server, timeoutMs, limited, timer, wanted } = options;
  const longestMs = timeoutMs * STEPS;
  return limited(async () => {
    if (wanted.aborted) throw unwanted(server);
    const deadline = new AbortController();
    const cancel = timer(longestMs, () => deadline.abort());
    try {
      return await task(AbortSignal.any([wanted, deadline.signal]));
    } catch (thrown) {
      if (!deadline.signal.aborted) throw thrown;
      const message = `${server} was not ready within ${longestMs} ms.`;
      throw new UpstreamError('UPSTREAM_TIMEOUT', message, {
        delivered: 'no',
        cause: thrown,
        fix: `${raiseTimeout(server)}; \`heddle doctor ${server}\` shows each step of its start.`,
      });
    } finally {
      cancel();
    }
  });
}

export const unwanted = (server: string) =>
  new HeddleError('CALL_CANCELLED', `${server} was not connected: the connection is no longer wanted.`);

/** The error of a server with per-user credentials that is used without a caller. */
export const noSharedConnection = (server: string) =>
  new HeddleError('AUTH_NEEDED', `${server} has no shared connection: each caller signs in with its own account.`, {
    details: { server, credentials: 'user' },
  });
