import { newCallId } from '../core/call/call-id.ts';
import { type CompleteResult, runToCompletion } from '../core/call/run-to-completion.ts';
import type { Call, Caller, JsonObject, Progress, Provenance } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import type { Heddle } from '../heddle.ts';
import { capabilitiesOfHost, type HostOptions, hostAsker } from './host-input.ts';

export interface CallOptions {
  readonly timeoutMs?: number;
  /** Whether another server of the pool may be tried when the first certainly did nothing; true unless said. */
  readonly failover?: boolean;
  readonly preferredServer?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

export interface CallResult extends Provenance {
  /** The server's own result, verbatim: `content`, `structuredContent` and whatever else it said. */
  readonly value: JsonObject;
  /** The tool ran and says that it failed. */
  readonly isError: boolean;
}

/** The program that Heddle is part of. */
export const PROGRAM: Caller = { id: 'library', roles: ['owner'], via: 'library' };

/** What a program asks for, as a call of its own. */
export function toLibraryCall(
  { kind, name, input }: Pick<Call, 'kind' | 'name' | 'input'>,
  options: CallOptions,
): Call {
  const { signal = new AbortController().signal, onProgress: report, ...rest } = options;
  return {
    id: newCallId(),
    kind,
    name,
    input: written(name, input), // A call is a fact: what the program does to its object later is not part of it.
    meta: {},
    caller: PROGRAM,
    options: rest,
    signal,
    ...(kind === 'tool' && { acceptsTask: true }),
    ...(report && { onProgress: (progress: Progress) => report(withPlainNumbers(progress)) }),
  };
}

/** The arguments as they can be sent, whatever the program gave. */
function written(name: string, input: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(input, refuseCode));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HeddleError('INPUT_INVALID', `The arguments of ${name} cannot be written as JSON: ${why}.`, {
      cause,
      fix: 'Give texts, numbers, booleans, null, lists and plain objects.',
    });
  }
}

/** JSON would leave it out, and the call would be another one. */
function refuseCode(key: string, value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol')
    throw new TypeError(`${key || 'it'} is a ${typeof value}`);
  return value;
}

/** Calls, and lets the program answer what servers ask. */
export async function send(heddle: Heddle, call: Call, host: HostOptions): Promise<CallResult> {
  const capabilities = capabilitiesOfHost(host);
  const describe = ({ caller, name, signal }: Call) => heddle.catalog.describe(caller, name, signal);
  if (capabilities) {
    const asking = { ask: hostAsker(host, call.name), describe };
    return toResult(await runToCompletion(heddle.dispatch, { ...call, capabilities }, asking));
  }
  const ask = () => Promise.reject(cannotAsk(call));
  const result = await heddle.dispatch(call);
  if (result.kind === 'input-required') throw cannotAsk(call);
  if (result.kind === 'complete') return toResult(result);
  return toResult(
    await runToCompletion(heddle.dispatch, { ...call, continuation: result.continuation }, { ask, describe }),
  );
}

const toResult = ({ value, isError, provenance }: CompleteResult): CallResult => ({
  value: withPlainNumbers(value),
  isError,
  ...provenance,
});

const cannotAsk = ({ name }: Call) =>
  new HeddleError('APPROVAL_REQUIRED', `${name} has a question for the user, which this program cannot ask.`);
