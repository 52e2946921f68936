import type { PendingApproval } from '../core/call/approval.ts';
import { newCallId } from '../core/call/call-id.ts';
import { type CompleteResult, runToCompletion } from '../core/call/run-to-completion.ts';
import type { Call, JsonObject, Progress, Provenance } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import type { Heddle } from '../heddle.ts';
import type { OptionKeys } from './check-options.ts';
import { capabilitiesOfHost, type HostOptions, hostInput } from './host-input.ts';
import type { CallToolResult } from './mcp-results.ts';
import { asAgent } from './program.ts';

export interface CallOptions {
  /**
   * The agent of the program that makes the call, such as `planner`: shown in approvals, audit records and traces. Rules,
   * limits and budgets name it `library/planner`. It uses the session and the credentials of the program.
   */
  readonly agent?: string;
  readonly timeoutMs?: number;
  /** False tries no other server of the pool after a failure that certainly had no effect. Default: true. */
  readonly failover?: boolean;
  readonly preferredServer?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

export const CALL_KEYS: OptionKeys<CallOptions> = {
  agent: true,
  timeoutMs: true,
  failover: true,
  preferredServer: true,
  signal: true,
  onProgress: true,
};

export interface CallResult extends Provenance {
  /** The server's result, verbatim: `content`, `structuredContent` and any other member. */
  readonly value: CallToolResult;
  /** True if the tool ran and reported that it failed. */
  readonly isError: boolean;
}

/** The result of any request, before its type is known. */
export interface RawResult extends Provenance {
  readonly value: JsonObject;
  readonly isError: boolean;
}

/** Builds the call for a request of the program. */
export function toLibraryCall(
  { kind, name, input }: Pick<Call, 'kind' | 'name' | 'input'>,
  options: CallOptions,
): Call {
  const { agent, signal = new AbortController().signal, onProgress, ...rest } = options;
  return {
    id: newCallId(),
    kind,
    name,
    input: copyAsJson(name, input), // A copy: the program may change its object while the call runs.
    meta: {},
    caller: asAgent(agent),
    options: rest,
    signal,
    ...(kind === 'tool' && { acceptsTask: true }),
    ...(onProgress && { onProgress: (progress: Progress) => onProgress(withPlainNumbers(progress)) }),
  };
}

/** Returns the arguments as they will be sent. Throws INPUT_INVALID for values that JSON cannot express. */
export function copyAsJson(name: string, input: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(input, rejectCode));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new HeddleError('INPUT_INVALID', `The arguments of ${name} cannot be written as JSON: ${reason}.`, {
      cause,
      fix: 'Pass strings, numbers, booleans, null, arrays and plain objects.',
    });
  }
}

/** Throws for functions and symbols, which `JSON.stringify` would silently leave out. */
function rejectCode(key: string, value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol')
    throw new TypeError(`${key || 'it'} is a ${typeof value}`);
  return value;
}

/** Runs a call to completion. The functions of `host` answer the input requests of servers and decide on approvals. */
export async function send(heddle: Heddle, call: Call, host: HostOptions): Promise<RawResult> {
  const capabilities = capabilitiesOfHost(host);
  const options = {
    ask: capabilities ? hostInput(host, call.name, call.caller.agent) : () => Promise.reject(cannotAsk(call)),
    describe: ({ caller, name, signal }: Call) => heddle.catalog.describe(caller, name, signal),
    async settled(pending: PendingApproval, signal: AbortSignal) {
      const { settleByHost } = await import('./settle-by-host.ts');
      await settleByHost(heddle, call, { pending, host, signal });
    },
  };
  if (capabilities) return toResult(await runToCompletion(heddle.dispatch, { ...call, capabilities }, options));
  const result = await heddle.dispatch(call);
  if (result.kind === 'input-required') throw cannotAsk(call);
  if (result.kind === 'complete') return toResult(result);
  const { continuation } = result;
  if (result.kind === 'waiting') await options.settled(result.approval, call.signal);
  return toResult(await runToCompletion(heddle.dispatch, { ...call, continuation }, options));
}

const toResult = ({ value, isError, provenance }: CompleteResult): RawResult => ({
  value: withPlainNumbers(value),
  isError,
  ...provenance,
});

const cannotAsk = ({ name }: Call) =>
  new HeddleError(
    'APPROVAL_REQUIRED',
    `${name} needs input from the user, and this program answers no input requests.`,
  );
