import { newCallId } from '../core/call/call-id.ts';
import { type AskUser, type CompleteResult, runToCompletion } from '../core/call/run-to-completion.ts';
import type { Call, Caller, Handler, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import type { HeddleOptions } from '../open-heddle.ts';
import { CONFIG_OPTION, GATEWAY_OPTIONS, type Input, type Option, TRUST_OPTION } from './command.ts';
import type { CommandHeddle } from './command-heddle.ts';
import { untilInterrupted } from './input/interrupt.ts';
import { type TypedArguments, unbound } from './input/read-arguments.ts';
import { readDuration } from './input/read-duration.ts';
import { TERMINAL_CAPABILITIES } from './local-caller.ts';
import { transientNotice } from './print/print-line.ts';
import { printFileProblems } from './print/print-problems.ts';
import { openOptions } from './with-heddle.ts';

const MAX_TIMEOUT_MS = 600_000;

export const ARGS_OPTION: Option = {
  type: 'string',
  value: 'JSON',
  help: 'All arguments as one JSON object; @file reads a file, - reads stdin',
};

/** The options of the commands that dispatch a call: `call`, `read` and `prompt`. */
export const RUN_OPTIONS: Readonly<Record<string, Option>> = {
  timeout: {
    type: 'string',
    value: 'TIME',
    help: 'Longest wait for the result, such as 300ms or 2m (default: the configured timeout, else 30s)',
  },
  yes: { type: 'boolean', help: 'Agree beforehand when the call needs approval; db_execute asks all the same' },
  'wait-approval': {
    type: 'string',
    value: 'TIME',
    help: 'Wait this long for an approver, such as 10m, instead of asking here',
  },
  config: CONFIG_OPTION,
  'trust-project': TRUST_OPTION,
  ...GATEWAY_OPTIONS,
  json: { type: 'boolean', help: 'Print the whole result as JSON' },
};

/** Returns the options to open Heddle for one call of the user at this terminal. */
export const runOptions = (input: Input): HeddleOptions => ({
  ...openOptions(input),
  listWaitMs: Number.POSITIVE_INFINITY,
  onProblems: printFileProblems,
});

/** Builds the call of the user at this terminal. An interrupt aborts it. */
export function terminalCall(
  what: Pick<Call, 'kind' | 'name' | 'input'>,
  { caller, input }: { readonly caller: Caller; readonly input: Input },
): Call {
  const timeoutMs = readTimeout(input.text('timeout'));
  return {
    id: newCallId(),
    ...what,
    meta: {},
    caller,
    capabilities: TERMINAL_CAPABILITIES,
    ...(what.kind === 'tool' && { acceptsTask: true }),
    options: timeoutMs === undefined ? {} : { timeoutMs },
    signal: untilInterrupted(),
    ...(input.flag('yes') && { approved: 'self' as const }),
    ...(process.stderr.isTTY && { onProgress: showProgress }),
  };
}

/**
 * Converts typed arguments with the schema of the call's tool. Without the tool they stay texts: dispatching the call
 * fails for the same reason, and records it. The server is connected once, for both.
 */
export async function bindTyped(heddle: CommandHeddle, call: Call, typed: TypedArguments): Promise<JsonObject> {
  const { caller, name, signal } = call;
  if (typed.named.size === 0) return typed.whole;
  const target = await heddle.catalog.describe(caller, name, signal).catch(() => undefined);
  if (target?.kind !== 'tool') return unbound(typed);
  const { bindToTool } = await import('./input/bind-to-tool.ts');
  return bindToTool(typed, target, name);
}

/** Dispatches a call until it is complete. Asks the user at the terminal for input and for approval. */
export async function runAtTerminal(heddle: CommandHeddle, call: Call, input: Input): Promise<CompleteResult> {
  const describe = ({ caller, name, signal }: Call) => heddle.catalog.describe(caller, name, signal);
  const waitMs = readWait(input);
  // The approval that the user has given at this terminal.
  let approved: string | undefined;
  const dispatch: Handler = (one) => heddle.dispatch(withVerdict(one, approved));
  return runToCompletion(dispatch, call, {
    ask: askUser,
    describe,
    async settled(approval) {
      const { settleAtTerminal } = await import('./approvals/settle-at-terminal.ts');
      const mayAsk = !input.flag('json') && approved === undefined;
      if (await settleAtTerminal(approval, { approvals: heddle.approvals, call, waitMs, mayAsk }))
        approved = approval.id;
    },
  });
}

/** Adds the verdict of the user to the approval that it is about. `--yes` decides about no requested approval. */
function withVerdict(call: Call, approvedHere: string | undefined): Call {
  const { continuation } = call;
  if (continuation?.kind !== 'approval') return call;
  const { approved: _, ...rest } = call;
  return continuation.id === approvedHere ? { ...rest, approved: 'self' } : rest;
}

function readWait(input: Input): number | undefined {
  const text = input.text('wait-approval');
  return text === undefined ? undefined : readDuration('wait-approval', text);
}

/** Parses `--timeout`. A number without a unit is in milliseconds. */
function readTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const timeoutMs = readDuration('timeout', /^\d+$/.test(text) ? `${text}ms` : text);
  if (timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  throw new HeddleError('USAGE_INVALID', `--timeout has to be at most 10m, not ${text}.`);
}

const askUser: AskUser = async (inputRequests, server, signal) => {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K'); // Clears a line of progress.
  const { askAtTerminal } = await import('./input/ask-elicitation.ts');
  return askAtTerminal(withPlainNumbers(inputRequests), server, signal);
};

function showProgress(params: JsonObject): void {
  const { progress, total, message } = withPlainNumbers(params);
  const share = typeof total === 'number' ? `${progress}/${total}` : String(progress);
  transientNotice(`${share} ${message ?? ''}`);
  if (progress === total) process.stderr.write('\r\x1b[K');
}
