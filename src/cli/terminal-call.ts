import { newCallId } from '../core/call/call-id.ts';
import { type AskUser, type CompleteResult, runToCompletion } from '../core/call/run-to-completion.ts';
import type { Call, Caller, ClientCapabilities, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import type { HeddleOptions } from '../open-heddle.ts';
import { CONFIG_OPTION, GATEWAY_OPTIONS, type Input, type Option, readNumber, TRUST_OPTION } from './command.ts';
import type { CommandHeddle } from './command-heddle.ts';
import { untilInterrupted } from './input/interrupt.ts';
import { type TypedArguments, unbound } from './input/read-arguments.ts';
import { following, indented } from './print/escape-control.ts';
import { transientNotice } from './print/print-line.ts';
import { printFileProblems } from './print/print-problems.ts';
import { openOptions } from './with-heddle.ts';

const MAX_TIMEOUT_MS = 600_000;
// Declared without a terminal, too: the server then gets a decline, and the user the reason.
const CAPABILITIES: ClientCapabilities = { form: true, url: true, sampling: false, samplingTools: false, roots: false };

export const ARGS_OPTION: Option = {
  type: 'string',
  value: 'JSON',
  help: 'All arguments as one JSON object; @file reads a file, - reads stdin',
};

/** The options of the commands that dispatch a call: `call`, `read` and `prompt`. */
export const RUN_OPTIONS: Readonly<Record<string, Option>> = {
  timeout: {
    type: 'string',
    value: 'MS',
    help: 'Longest wait for the result (default: the configured timeout, else 30000)',
  },
  yes: { type: 'boolean', help: 'Agree beforehand when the call needs approval' },
  config: CONFIG_OPTION,
  'trust-project': TRUST_OPTION,
  ...GATEWAY_OPTIONS,
  json: { type: 'boolean', help: 'Print the whole result as JSON' },
};

/** Returns the options to open Heddle for one call of the user at this terminal. */
export const runOptions = (input: Input, caller: Caller): HeddleOptions => ({
  ...openOptions(input),
  listWaitMs: Number.POSITIVE_INFINITY,
  user: { principal: caller.id, capabilities: CAPABILITIES },
  onProblems: printFileProblems,
});

/** Builds the call of the user at this terminal. An interrupt aborts it. */
export function terminalCall(
  what: Pick<Call, 'kind' | 'name' | 'input'>,
  { caller, input }: { readonly caller: Caller; readonly input: Input },
): Call {
  const timeoutMs = readNumber('timeout', input.text('timeout'), MAX_TIMEOUT_MS);
  return {
    id: newCallId(),
    ...what,
    meta: {},
    caller,
    capabilities: CAPABILITIES,
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
  const [{ bindArguments }, { functionSignature }] = await Promise.all([
    import('./input/bind-arguments.ts'),
    import('./print/function-signature.ts'),
  ]);
  const signature = functionSignature(target, target.shownAs ?? target.name);
  return bindArguments(typed, { name, inputSchema: target.definition.inputSchema, signature });
}

/** Dispatches a call until it is complete. Asks the user at the terminal for input and for approval. */
export async function runAtTerminal(heddle: CommandHeddle, call: Call, input: Input): Promise<CompleteResult> {
  const describe = ({ caller, name, signal }: Call) => heddle.catalog.describe(caller, name, signal);
  const through = (one: Call) => runToCompletion(heddle.dispatch, one, { ask: askUser, describe });
  try {
    return await through(call);
  } catch (thrown) {
    const { code, message } = HeddleError.from(thrown);
    if (code !== 'APPROVAL_REQUIRED' || input.flag('json')) throw thrown;
    const [{ askNo, canAsk }, { showWhole }] = await Promise.all([
      import('./input/ask.ts'),
      import('./print/show-whole.ts'),
    ]);
    if (!canAsk()) throw thrown;
    const args = indented(JSON.stringify(call.input, null, 2), process.stderr);
    const whole = `${following('', message, process.stderr)}\nArguments:\n${args}`;
    if (!(await showWhole(whole)) || !(await askNo('Run it?'))) throw refused(call);
    return through({ ...call, id: newCallId(), approved: 'self' });
  }
}

const askUser: AskUser = async (inputRequests, server, signal) => {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K'); // Clears a line of progress.
  const { askAtTerminal } = await import('./input/ask-elicitation.ts');
  return askAtTerminal(withPlainNumbers(inputRequests), server, signal);
};

const refused = ({ name }: Call) =>
  new HeddleError('PERMISSION_DENIED', `You said no, so ${name} was not called.`, {
    fix: 'Call it again when you have changed your mind.',
  });

function showProgress(params: JsonObject): void {
  const { progress, total, message } = withPlainNumbers(params);
  const share = typeof total === 'number' ? `${progress}/${total}` : String(progress);
  transientNotice(`${share} ${message ?? ''}`);
  if (progress === total) process.stderr.write('\r\x1b[K');
}
