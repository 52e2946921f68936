import type { Call, Continuation, JsonObject, Stage } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import type { Span, TraceLog } from '../store/trace-log.ts';
import { keptName } from './kept-name.ts';
import { type Outcome, observer } from './outcome.ts';
import { sanitised } from './sanitise.ts';

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
      const { id, kind, name, caller, input, meta, beside, from } = call;
      const meant = subject(call);
      const server = answered ?? meant?.server;
      const ended = {
        id,
        kind,
        name,
        caller,
        input,
        meta,
        beside,
        from,
        meant,
        startedAt,
        durationMs,
        outcome,
        server,
      };
      log.append(spanLater(ended));
    });
  };
}

/** As much of a call as its span tells: what waits to be written keeps nothing else alive. */
interface Ended extends Outcome, Pick<Call, 'id' | 'kind' | 'name' | 'caller' | 'input' | 'meta'> {
  readonly beside: JsonObject | undefined;
  readonly from: Continuation | undefined;
  readonly meant: ReturnType<Subject>;
  readonly startedAt: number;
}

const spanLater = (ended: Ended) => () => spanOf(ended);

function spanOf(call: Ended): Span {
  const { meant, startedAt, durationMs, outcome, server } = call;
  const { traceparent } = call.meta;
  const parent = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null;
  const id = call.id.replaceAll('-', '');
  return {
    traceId: parent?.[1] ?? id,
    ...placeOf(id, call, parent?.[2]),
    name: keptName(meant?.name ?? call.name),
    ...(server !== undefined && { server }),
    startedAt,
    durationMs,
    outcome,
    attributes: {
      callId: call.id,
      caller: call.caller.id,
      via: call.caller.via,
      ...(call.kind !== 'tool' && { kind: call.kind }),
      ...(meant && meant.name !== call.name && { written: keptName(call.name) }),
      arguments: sanitised(call.input),
      ...(call.beside && { parameters: sanitised(call.beside) }),
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
