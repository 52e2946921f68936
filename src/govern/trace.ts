import type { Call, Continuation, Json, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { Span, TraceLog } from '../store/trace-log.ts';
import { type Outcome, observer } from './outcome.ts';
import { sanitised } from './sanitise.ts';
import { truncateName } from './truncate-name.ts';

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/;

const SPAN_ID_CHARS = 16;

/** What a call is counted as, however its caller wrote the name; undefined when it is of nothing known. */
export type Subject = (call: Call) => { readonly name: string; readonly server?: string } | undefined;

/** Keeps a span of every call, under the trace of whoever made it when they said which. */
export function trace(log: TraceLog, subject: Subject, clock: Clock = Date.now): Stage<Call> {
  const observed = observer();
  return function trace(call, next) {
    const startedAt = clock();
    return observed(call, next, ({ outcome, server: answered, durationMs }) => {
      const { id, kind, caller, continuation, extraParams } = call;
      const meant = subject(call);
      const written = truncateName(call.name);
      log.append(
        spanLater({
          id,
          kind,
          caller,
          from: continuation,
          written,
          startedAt,
          durationMs,
          outcome,
          name: meant ? truncateName(meant.name) : written,
          server: answered ?? meant?.server,
          traceparent: call.meta.traceparent,
          arguments: sanitised(call.input),
          parameters: extraParams && sanitised(extraParams),
        }),
      );
    });
  };
}

/** As much of a call as its span tells, and no more of what came with it: the call is over, and this waits. */
interface Ended extends Outcome, Pick<Call, 'id' | 'kind' | 'name' | 'caller'> {
  readonly from: Continuation | undefined;
  /** The name as its caller wrote it. */
  readonly written: string;
  readonly startedAt: number;
  readonly traceparent: Json | undefined;
  readonly arguments: Json;
  readonly parameters: Json | undefined;
}

const spanLater = (ended: Ended) => () => spanOf(ended);

function spanOf(call: Ended): Span {
  const { name, written, server, startedAt, durationMs, outcome, traceparent, parameters } = call;
  const parent = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null;
  const id = call.id.replaceAll('-', '');
  return {
    traceId: parent?.[1] ?? id,
    ...placeOf(id, call, parent?.[2]),
    name,
    ...(server !== undefined && { server }),
    startedAt,
    durationMs,
    outcome,
    attributes: {
      callId: call.id,
      caller: call.caller.id,
      via: call.caller.via,
      ...(call.kind !== 'tool' && { kind: call.kind }),
      ...(written !== name && { written }),
      arguments: call.arguments,
      ...(parameters !== undefined && { parameters }),
    },
  };
}

/** The random end of the call's id; a round after a question is a span of its own, below that of the first. */
function placeOf(
  id: string,
  { from }: Pick<Ended, 'from'>,
  parentId: string | undefined,
): Pick<Span, 'spanId' | 'parentId'> {
  const spanId = id.slice(-SPAN_ID_CHARS);
  if (from) return { spanId: crypto.randomUUID().replaceAll('-', '').slice(-SPAN_ID_CHARS), parentId: spanId };
  return { spanId, ...(parentId !== undefined && { parentId }) };
}
