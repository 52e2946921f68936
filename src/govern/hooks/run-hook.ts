import { abortable } from '../../core/async/abortable.ts';
import type { Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { parseExact, withNumbersAsText } from '../../core/exact-numbers.ts';
import { parseJson } from '../../core/json.ts';
import type { HookEvent } from '../../core/records/hook.ts';
import { redactText } from '../../core/text/redact-text.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import type { ConfiguredHook, Hook, HookParts } from './hook.ts';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 1024 * 1024;
const MAX_STDERR_CHARS = 500;
// The name or the first line of a secret may be far before the shown part.
const MAX_SEARCHED_CHARS = 16_384;
const OK = { least: 200, most: 299 };

/** The output of a hook: its parsed JSON, or the reason why there is none. */
export type HookOutput = { readonly value: unknown } | HookFailure;

export interface HookFailure {
  readonly failure: string;
  /** The last lines that its program printed to stderr, for the audit log alone: the program got the arguments. */
  readonly stderr?: string;
}

/** Runs one hook to its end. Throws CALL_CANCELLED if the signal aborts; every other failure is returned. */
export async function runHook(
  { about }: Hook,
  event: HookEvent,
  { parts, signal }: { readonly parts: HookParts; readonly signal: AbortSignal },
): Promise<HookOutput> {
  if ('run' in about) return callFunction(about.run, event, signal);
  const body = JSON.stringify(event);
  const output = await (about.configured.command ? runProgram : post)(about.configured, body, { parts, signal });
  if (signal.aborted) throw new HeddleError('CALL_CANCELLED', 'The call was cancelled while its hooks ran.');
  return output;
}

interface RunOptions {
  readonly parts: HookParts;
  readonly signal: AbortSignal;
}

async function callFunction(
  run: (event: never, context: { readonly signal: AbortSignal }) => unknown,
  event: HookEvent,
  signal: AbortSignal,
): Promise<HookOutput> {
  try {
    // A copy: a function that changes the event in place must not change the call.
    const verdict = Promise.resolve(run(withNumbersAsText(parseExact(JSON.stringify(event))) as never, { signal }));
    return { value: JSON.parse(JSON.stringify((await abortable(verdict, signal)) ?? {})) };
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return { failure: 'failed' }; // The text of a thrown error may hold anything: it is not shown.
  }
}

async function runProgram(
  { command: argv = [], timeoutMs = TIMEOUT_MS }: ConfiguredHook,
  input: string,
  { parts: { watchdog, env, cwd }, signal }: RunOptions,
): Promise<HookOutput> {
  const [{ runCommand }, { childEnvironment }] = await Promise.all([
    import('../../process/run-command.ts'),
    import('../../process/child-environment.ts'),
  ]);
  const [command = '', ...args] = argv;
  const limits = { timeoutMs, maxBytes: MAX_BYTES, signal };
  const request = { command, args, env: childEnvironment(env, {}), cwd: cwd(), input, ...limits };
  const result = await runCommand(request, watchdog);
  if (result.kind === 'ended') return parsed(result.stdout, 'printed');
  const end = redactText(result.stderr.slice(-MAX_SEARCHED_CHARS).trim()).slice(-MAX_STDERR_CHARS);
  const shown = oneLine(end);
  const stderr = shown.slice(-MAX_STDERR_CHARS);
  return { failure: result.reason, ...(stderr !== '' && { stderr }) };
}

async function post(
  { url = '', secret, timeoutMs = TIMEOUT_MS }: ConfiguredHook,
  body: string,
  { parts: { env, clock }, signal }: RunOptions,
): Promise<HookOutput> {
  const [{ guardedFetch }, { webhookSignature }] = await Promise.all([
    import('../../egress/guarded-fetch.ts'),
    import('../../egress/webhook-signature.ts'),
  ]);
  const headers = {
    'content-type': 'application/json',
    ...(secret !== undefined && { 'heddle-signature': webhookSignature(body, secret, clock()) }),
  };
  try {
    const limits = { timeoutMs, maxBytes: MAX_BYTES, signal };
    const answer = await guardedFetch(url, { method: 'POST', body, headers, env, source: { written: url }, ...limits });
    const isFine = answer.status >= OK.least && answer.status <= OK.most;
    return isFine
      ? parsed(answer.body.toString('utf8'), 'answered')
      : { failure: `answered with HTTP ${answer.status}` };
  } catch (thrown) {
    if (!HeddleError.is(thrown)) throw thrown;
    const { refused } = thrown.details;
    if (typeof refused === 'string') return { failure: `cannot be used: it ${refused}` };
    return { failure: thrown.code === 'UPSTREAM_TIMEOUT' ? `did not end within ${timeoutMs} ms` : 'cannot be reached' };
  }
}

/** Parses the output of a command or webhook. No output means no objection. */
function parsed(text: string, verb: string): HookOutput {
  if (text.trim() === '') return { value: {} };
  try {
    return { value: parseJson(text, { maxChars: MAX_BYTES, numbers: 'exact' }) satisfies Json };
  } catch {
    return { failure: `${verb} something other than JSON` };
  }
}
