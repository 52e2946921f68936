import type { Alarm } from '../core/alarm.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';

export interface InTimeOptions {
  readonly server: string;
  /** Lets it have its turn among others. */
  readonly limited: <T>(task: () => Promise<T>) => Promise<T>;
  readonly alarm: Alarm;
  /** Aborted when nobody wants it any more. */
  readonly wanted: AbortSignal;
}

const CONNECT_MS = 30_000;

/** Runs a task that opens a line when its turn has come, and gives it no longer than a connect may take. */
export function inTime<T>(options: InTimeOptions, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { server, limited, alarm, wanted } = options;
  return limited(async () => {
    if (wanted.aborted) throw unwanted(server);
    const deadline = new AbortController();
    const cancel = alarm(CONNECT_MS, () => deadline.abort());
    try {
      return await task(AbortSignal.any([wanted, deadline.signal]));
    } catch (thrown) {
      throw deadline.signal.aborted ? tooSlow(server, thrown) : thrown;
    } finally {
      cancel();
    }
  });
}

export const unwanted = (server: string) =>
  new HeddleError('CALL_CANCELLED', `${server} was not connected: nobody wants it any more.`);
const tooSlow = (server: string, cause: unknown) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${server} was not ready within ${CONNECT_MS} ms.`, {
    delivered: 'no',
    cause,
    fix: `Run \`heddle doctor ${server}\` to see what it does meanwhile.`,
  });
