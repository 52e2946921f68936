import type { Caller } from '../core/call.ts';
import type { ServerStatus } from '../core/records/server-status.ts';
import type { Heddle } from '../heddle.ts';

const isStarting = ({ state, attempt: [attempt] }: ServerStatus) => state === 'pending' && attempt > 0;

/** Reads the names of the servers that are starting, after each change of a server. */
export async function* startingServers(
  heddle: Pick<Heddle, 'changes' | 'servers'>,
  by: Caller,
  signal: AbortSignal,
): AsyncIterable<readonly string[]> {
  for await (const { kind } of heddle.changes(by, signal)) {
    if (kind !== 'server') continue;
    const names = (await heddle.servers.list(by)).filter(isStarting).map(({ name }) => name);
    if (signal.aborted) return;
    yield names;
  }
}
