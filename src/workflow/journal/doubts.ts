import { RESOLUTIONS, type RunResolution } from '../../core/records/run.ts';
import { eventKeys } from './events.ts';
import type { Doubts, RunContext } from './run-context.ts';
import type { StepSending } from './step-sending.ts';
import { orAborted } from './wait-for-person.ts';

type Parts = Pick<RunContext, 'history' | 'writer' | 'activity' | 'pauses' | 'events' | 'clock'>;

/** Creates the calls in doubt, with those of earlier executions. */
export function runDoubts({ history, writer, activity, pauses, events, clock }: Parts): Doubts {
  const open = new Map<string, { readonly attempt: number; readonly send: number }>();
  const resolutions = new Map<string, Omit<RunResolution, 'path'>>();
  for (const { path, attempt, send, isInDoubt } of history.sent.values())
    if (isInDoubt) open.set(path, { attempt, send });

  async function note({ path, call, send, callId }: StepSending): Promise<void> {
    if (open.has(path) || resolutions.has(path)) return;
    open.set(path, { attempt: call.attempt, send });
    writer.add('doubt', path, { attempt: call.attempt, send, callId, tool: call.tool });
    pauses.open(path, clock());
    await writer.commit({ status: 'in_doubt' });
  }

  return {
    get size() {
      return open.size;
    },
    async resolution(sending) {
      const { path, call } = sending;
      await note(sending);
      for (;;) {
        const next = events.next(eventKeys.doubt(path));
        const found = resolutions.get(path);
        resolutions.delete(path);
        if (found) return found;
        if (call.signal.aborted) {
          open.delete(path);
          return undefined;
        }
        await activity.wait(orAborted(next, call.signal), () => undefined);
      }
    },
    resolve({ path = onlyKey(open), ...resolution }, by) {
      const place = path === undefined ? undefined : open.get(path);
      if (path === undefined || !place || !RESOLUTIONS.includes(resolution.how)) return;
      open.delete(path);
      resolutions.set(path, resolution);
      writer.add('resolved', path, { ...place, ...resolution, by });
      pauses.close(path, clock());
      events.report(eventKeys.doubt(path));
    },
  };
}

/** Returns the key of a map with one entry. */
const onlyKey = (map: ReadonlyMap<string, unknown>): string | undefined =>
  map.size === 1 ? map.keys().next().value : undefined;
