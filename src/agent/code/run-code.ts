import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { limiter } from '../../core/async/limiter.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import type { CodeHost, CodeRequest, RunCode } from '../../core/code.ts';
import { HeddleError } from '../../core/errors.ts';
import { withNumbersAsText } from '../../core/exact-numbers.ts';
import { parseJson } from '../../core/json.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { redactText } from '../../core/text/redact-text.ts';
import type { CallSettled, SandboxFailure, SandboxJob, SandboxMessage } from './sandbox-messages.ts';

const THREAD = join(import.meta.dirname, `sandbox-thread${extname(import.meta.filename)}`);
/** Added to the limit of time before the thread is ended. The sandbox notices the limit by itself in most cases. */
const GRACE_MS = 2_000;
const MAX_CONCURRENT_CALLS = 16;
const MAX_COMPUTING = 4;
const MAX_SHOWN_CHARS = 500;
// A secret that begins in the shown part is found as a whole.
const MAX_SEARCHED_CHARS = 16_384;
const MAX_HEAP_MEGABYTES = 128;

/** Bounds the code that computes at the same time: a thread needs 30 MB and a whole processor. */
const limitedThreads = limiter(MAX_COMPUTING);

/**
 * Runs code in QuickJS, in a thread of its own: an endless loop blocks no other work. At most four threads begin at the
 * same time; the others wait until one ends or waits for its calls. A call may run code itself, so waiting needs no place.
 */
export const runCode: RunCode = async (request, host) => {
  const place = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  void limitedThreads(() => {
    place.resolve();
    return free.promise;
  });
  const onIdle = (isIdle: boolean) => {
    if (isIdle) free.resolve();
    host.onIdle(isIdle);
  };
  try {
    await beforeAbort(place.promise, host.signal);
    return await runInThread(request, { ...host, onIdle });
  } finally {
    free.resolve();
  }
};

/** Waits for a promise. Rejects when the signal aborts. */
async function beforeAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const abort = Promise.withResolvers<never>();
  const onAbort = () => abort.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, abort.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Runs code in a new thread. Time while it waits for calls does not count, because calls have limits of their own. The
 * thread has ended when this returns or throws.
 */
async function runInThread(request: CodeRequest, host: CodeHost): Promise<Json> {
  const { source, tools, limits, seed, now } = request;
  const job: SandboxJob = { source, tools, limits, seed, now, input: toText(request.input) };
  const worker = new Worker(THREAD, {
    workerData: job,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MEGABYTES },
  });
  const thread = supervise(worker, request, host);
  try {
    return await beforeAbort(thread.result, host.signal);
  } finally {
    thread.stop();
    await worker.terminate();
  }
}

/** A number that JavaScript cannot hold is text in the code: nothing is rounded. */
const toText = (value: Json): string => JSON.stringify(withNumbersAsText(value));

/** Follows the thread: makes its calls, limits its time, and reports when it waits. */
function supervise(worker: Worker, request: CodeRequest, host: CodeHost) {
  const { promise: result, resolve, reject } = Promise.withResolvers<Json>();
  const limited = limiter(MAX_CONCURRENT_CALLS);
  let settled = 0;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function setIdle(isIdle: boolean): void {
    clearTimeout(timer);
    if (!isIdle) timer = setTimeout(() => reject(toError({ kind: 'exceeded', limit: 'time' }, request)), hardLimitMs);
    host.onIdle(isIdle);
  }
  const hardLimitMs = request.limits.wallMs + GRACE_MS;

  async function makeCall(index: number, tool: string, input: string): Promise<void> {
    const reply = await limited(async () => replyTo(isStopped ? undefined : host.call(index, tool, parseInput(input))));
    if (isStopped) return;
    settled++;
    setIdle(false);
    worker.postMessage({ index, reply } satisfies CallSettled);
  }

  worker.on('message', (message: SandboxMessage) => {
    if (message.kind === 'call') makeCall(message.index, message.tool, message.input).catch(reject);
    // A call may have ended since the thread has sent this.
    else if (message.kind === 'idle') setIdle(message.settled === settled);
    else if (message.kind === 'done') resolve(parseJson(message.value, { keys: 'any' }));
    else reject(toError(message, request));
  });
  worker.on('error', (error) => {
    const { code, name } = error as { readonly code?: string; readonly name?: string };
    if (code === 'ERR_WORKER_OUT_OF_MEMORY') reject(toError({ kind: 'exceeded', limit: 'memory' }, request));
    // The interpreter itself has overflowed its stack.
    else if (name === 'RangeError' || name === 'RuntimeError')
      reject(toError({ kind: 'exceeded', limit: 'stack' }, request));
    else reject(error);
  });
  worker.on('exit', () => reject(new HeddleError('INTERNAL', 'The thread of the code ended before the code did.')));
  setIdle(false);
  return {
    result,
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
      result.catch(() => {}); // An abort has ended the wait for it.
    },
  };
}

const parseInput = (input: string): JsonObject => parseJson(input, { keys: 'any' }) as JsonObject;

/** Returns the reply for the code: the value, or an error that has a code. Rethrows any other error. */
async function replyTo(call: Promise<Json> | undefined): Promise<string> {
  try {
    return `{"value":${toText((await call) ?? null)}}`;
  } catch (thrown) {
    const { code, message } = thrown as { readonly code?: unknown; readonly message?: unknown };
    if (typeof code !== 'string') throw thrown;
    return JSON.stringify({ error: { code, message: String(message) } });
  }
}

const LIMITS: Readonly<
  Record<Extract<SandboxFailure, { kind: 'exceeded' }>['limit'], (request: CodeRequest) => string>
> = {
  time: ({ limits }) => `takes longer than ${limits.wallMs} ms`,
  memory: ({ limits }) => `needs more than ${limits.memoryBytes} bytes of memory`,
  stack: () => 'nests too deeply',
  calls: ({ limits }) => `makes more than ${limits.calls} calls`,
  result: () => 'has a result that is larger than 1 MiB',
  input: () => 'passes more than 1 MiB to one call, or 16 MiB to all',
};

function toError(failure: SandboxFailure, request: CodeRequest): HeddleError {
  if (failure.kind === 'exceeded') {
    return new HeddleError('CODE_LIMIT_EXCEEDED', `The code ${LIMITS[failure.limit](request)}.`);
  }
  const { line, message } = failure;
  const shown = cutAndEscapeBreaks(redactText(message.slice(0, MAX_SEARCHED_CHARS)), MAX_SHOWN_CHARS);
  const place = line === undefined ? '' : ` at line ${line}`;
  return new HeddleError('CODE_FAILED', `The code failed${place}: ${shown}.`, {
    details: line === undefined ? {} : { line },
  });
}
