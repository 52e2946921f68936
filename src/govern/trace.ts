import type { Call, Continuation, Json, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import { SPAN_ID_CHARS, spanAbove } from '../core/traceparent.ts';
import type { Span, TraceLog } from '../store/trace-log.ts';
import { type Outcome, observer } from './outcome.ts';
import { sanitised } from './sanitise.ts';
import { truncateName } from './truncate-name.ts';

/** Maps a call to the public name and server under which it is counted; undefined for an unknown name. */
export type Subject = (call: Call) => { readonly name: string; readonly server?: string } | undefined;

/**
 * Appends a span for every call. Its parent is that of `_meta.traceparent` if the caller sent one; for a step of a run, the
 * call that began the run.
 */
export function trace(log: TraceLog, subject: Subject, clock: Clock = Date.now): Stage<Call> {
  const observed = observer();
  return function trace(call, next) {
    const startedAt = clock();
    return observed(call, next, ({ outcome, server: answered, mismatch, durationMs }) => {
      const { id, kind, caller, continuation, extraParams } = call;
      const found = subject(call);
      const written = truncateName(call.name);
      log.append(
        spanLater({
          id,
          kind,
          caller,
          continuation,
          written,
          startedAt,
          durationMs,
          outcome,
          mismatch,
          name: found ? truncateName(found.name) : written,
          server: answered ?? found?.server,
          above: spanAbove(call),
          arguments: sanitised(call.input),
          parameters: extraParams && sanitised(extraParams),
        }),
      );
    });
  };
}

/** The fields of a call that its span needs. A queued span keeps nothing else of the call in memory. */
interface Ended extends Outcome, Pick<Call, 'id' | 'kind' | 'name' | 'caller'> {
  readonly continuation: Continuation | undefined;
  /** The name as the caller wrote it. */
  readonly written: string;
  readonly startedAt: number;
  readonly above: ReturnType<typeof spanAbove>;
  readonly arguments: Json;
  readonly parameters: Json | undefined;
}

const spanLater = (ended: Ended) => () => spanOf(ended);

function spanOf(call: Ended): Span {
  const { name, written, server, startedAt, durationMs, outcome, mismatch, parameters } = call;
  const { above } = call;
  const id = call.id.replaceAll('-', '');
  return {
    traceId: above?.traceId ?? id,
    ...spanIdsOf(id, call, above?.parentId),
    name,
    ...(server !== undefined && { server }),
    startedAt,
    durationMs,
    outcome,
    attributes: {
      callId: call.id,
      caller: call.caller.id,
      via: call.caller.via,
      ...(call.caller.agent !== undefined && { agent: call.caller.agent }),
      ...(call.kind !== 'tool' && { kind: call.kind }),
      ...(written !== name && { written }),
      arguments: call.arguments,
      ...(parameters !== undefined && { parameters }),
      ...(mismatch !== undefined && { mismatch }),
    },
  };
}

/** Derives the span id from the random end of the call id. A continuation gets a random id below the first span. */
function spanIdsOf(
  id: string,
  { continuation }: Pick<Ended, 'continuation'>,
  parentId: string | undefined,
): Pick<Span, 'spanId' | 'parentId'> {
  const spanId = id.slice(-SPAN_ID_CHARS);
  if (continuation) return { spanId: crypto.randomUUID().replaceAll('-', '').slice(-SPAN_ID_CHARS), parentId: spanId };
  return { spanId, ...(parentId !== undefined && { parentId }) };
}
