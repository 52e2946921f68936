import type { JsonObject } from '../../core/call.ts';
import type { RunContext } from './run-context.ts';
import type { StepSending } from './step-sending.ts';

/** The calls of a run that may have begun other runs. */
export interface RunChildren {
  /** Notes a call, before it can begin a run. The returned function ends it. */
  add(sending: StepSending): () => void;
  /** A child waits for a person, or goes on: meanwhile no timeout of the steps above it counts. */
  onWaiting(isWaiting: boolean, detail: JsonObject): void;
}

type Parts = Pick<RunContext, 'history' | 'writer' | 'pauses'>;
type Place = { readonly path: string; readonly attempt: number; readonly send: number };

export function runChildren({ history, writer, pauses }: Parts): RunChildren {
  // Signals are read before the steps of earlier executions go on.
  const calls = new Map<string, Place>([...history.sent.values()].map((call) => [call.callId, call]));
  return {
    add({ callId, path, call: { attempt }, send }) {
      calls.set(callId, { path, attempt, send });
      return () => {
        calls.delete(callId);
      };
    },
    onWaiting(isWaiting, { callId, run, at }) {
      const place = calls.get(String(callId));
      // A child tells again after a crash.
      if (!place || pauses.isOpen(place.path) === isWaiting || typeof at !== 'number') return;
      const { path, attempt, send } = place;
      if (isWaiting) {
        writer.add('waiting', path, { attempt, send, child: String(run), since: at });
        pauses.open(path, at);
      } else {
        writer.add('decided', path, { attempt, send, at });
        pauses.close(path, at);
      }
    },
  };
}
