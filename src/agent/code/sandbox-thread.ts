import { stripTypeScriptTypes } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core';
import { nearestFirst } from '../../core/text/did-you-mean.ts';
import {
  type CallSettled,
  MAX_INPUT_CHARS,
  MAX_JSON_CHARS,
  type SandboxFailure,
  type SandboxJob,
  type SandboxMessage,
} from './sandbox-messages.ts';
import { PRELUDE } from './sandbox-prelude.ts';

const FILE = 'code.ts';
const MAX_STACK_BYTES = 256 * 1024;
const PAGE_BYTES = 64 * 1024;
const MAX_MESSAGE_CHARS = 1000;
const MAX_NAMED_TOOLS = 5;
const LINE = new RegExp(`${FILE.replace('.', '\\.')}:(\\d+)`);

const job = workerData as SandboxJob;
/** True if the sandbox needed memory that it did not get. */
let isMemoryFull = false;
const send = (message: SandboxMessage): void => parentPort?.postMessage(message);

// The sandbox takes the time zone from here. Its results must be the same on every machine.
Date.prototype.getTimezoneOffset = () => 0;

limitMemory(job.limits.memoryBytes);
const stripped = stripTypes(job.source);
if ('kind' in stripped) send(stripped);
else await execute(stripped.source);

/**
 * Limits the memory of the sandbox, which begins with 16 MiB. The limit of QuickJS itself counts allocations and not their
 * size in this build: code with a limit of 16 MiB took 760 MB.
 */
function limitMemory(bytes: number): void {
  const { Memory } = (globalThis as unknown as WebAssemblyHolder).WebAssembly;
  const { grow } = Memory.prototype;
  Memory.prototype.grow = function growWithinLimit(this: WasmMemory, pages: number): number {
    if (this.buffer.byteLength + pages * PAGE_BYTES <= bytes) return grow.call(this, pages);
    isMemoryFull = true;
    throw new RangeError('The limit of memory is reached.');
  };
}

// Not part of the libraries that the compiler knows for Node.
interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}
interface WebAssemblyHolder {
  readonly WebAssembly: { readonly Memory: { readonly prototype: WasmMemory } };
}

/** Makes a function of the code and removes its types. Lines stay where they are, after one more. */
function stripTypes(source: string): { readonly source: string } | SandboxFailure {
  try {
    return { source: stripTypeScriptTypes(`(async function code(input, tools) {\n${source}\n})`) };
  } catch (thrown) {
    const { message, stack = '', code } = thrown as NodeJS.ErrnoException;
    // The compiler itself has overflowed its stack.
    if (code === 'ERR_INTERNAL_ASSERTION') return { kind: 'exceeded', limit: 'stack' };
    const line = Number(/^[^\n]*:(\d+)\n/.exec(stack)?.[1]);
    return { kind: 'failed', message: cut(`SyntaxError: ${message}`), ...(line > 1 && { line: line - 1 }) };
  }
}

async function execute(source: string): Promise<void> {
  // The package declares its CommonJS types for imports, too.
  const quickJs = await newQuickJSWASMModuleFromVariant(variant as unknown as QuickJSSyncVariant);
  const runtime = quickJs.newRuntime({ maxStackSizeBytes: MAX_STACK_BYTES });
  const context = runtime.newContext();
  const calls = new Map<number, ReturnType<QuickJSContext['newPromise']>>();
  let exceeded: SandboxFailure | undefined;
  let made = 0;
  let settled = 0;
  let inputChars = 0;
  let leftMs = job.limits.wallMs;
  let deadline = 0;

  runtime.setInterruptHandler(() => {
    if (performance.now() > deadline) exceeded ??= { kind: 'exceeded', limit: 'time' };
    return exceeded !== undefined;
  });

  function onCall(tool: QuickJSHandle, input: QuickJSHandle): QuickJSHandle {
    const chars = lengthOf(context, input);
    inputChars += chars;
    if (made >= job.limits.calls) exceeded ??= { kind: 'exceeded', limit: 'calls' };
    if (chars > MAX_JSON_CHARS || inputChars > MAX_INPUT_CHARS) exceeded ??= { kind: 'exceeded', limit: 'input' };
    if (exceeded) throw new Error('limit');
    const promise = context.newPromise();
    const index = made++;
    calls.set(index, promise);
    send({ kind: 'call', index, tool: context.getString(tool), input: context.getString(input) });
    return promise.handle;
  }

  /** Executes code, within the time that is left. Reports its end, or that it waits for calls. */
  function work(task: () => SandboxMessage | undefined): void {
    const startedAt = performance.now();
    deadline = startedAt + leftMs;
    let end: SandboxMessage | undefined;
    try {
      end = task();
    } catch (thrown) {
      // Also the input or the result of a call may need too much.
      if (isMemoryFull) exceeded ??= { kind: 'exceeded', limit: 'memory' };
      // After an interruption the values of the code cannot be read.
      if (!exceeded) throw thrown;
    }
    leftMs -= performance.now() - startedAt;
    send(exceeded ?? end ?? { kind: 'idle', settled });
  }

  let result: QuickJSHandle | undefined;
  work(() => {
    const started = start(context, source, onCall);
    if ('kind' in started) return started;
    result = started.promise;
    runtime.executePendingJobs();
    return stateOf(context, result, calls.size);
  });

  parentPort?.on('message', ({ index, reply }: CallSettled) => {
    const promise = calls.get(index);
    if (!promise || !result) return;
    const main = result;
    calls.delete(index);
    settled++;
    work(() => {
      context.newString(reply).consume((handle) => promise.resolve(handle));
      runtime.executePendingJobs();
      return stateOf(context, main, calls.size);
    });
  });
}

type HostCall = (tool: QuickJSHandle, input: QuickJSHandle) => QuickJSHandle;

/** Starts the code. Returns the promise of its result as JSON text. */
function start(
  context: QuickJSContext,
  source: string,
  onCall: HostCall,
): { readonly promise: QuickJSHandle } | SandboxFailure {
  const prelude = context.unwrapResult(context.evalCode(PRELUDE, 'prelude.js'));
  const host = context.newFunction('host', onCall);
  const unknown = context.newFunction('unknown', (name) => context.newString(unknownTool(context.getString(name))));
  const names = job.tools.map(splitName);
  const config = `{"seed":${job.seed},"now":${job.now},"names":${JSON.stringify(names)},"input":${job.input}}`;
  const prepared = context.callFunction(prelude, context.undefined, host, unknown, context.newString(config));
  if (prepared.error) return failureOf(context, prepared.error);
  const body = context.evalCode(source, FILE);
  if (body.error) return failureOf(context, body.error);
  const running = context.callFunction(prepared.value, context.undefined, body.value);
  return running.error ? failureOf(context, running.error) : { promise: running.value };
}

/** Describes a tool that the code may not call, with the nearest of those that it may. */
function unknownTool(name: string): string {
  const near = nearestFirst(name, job.tools).slice(0, MAX_NAMED_TOOLS);
  const allowed = near.length === 0 ? 'no tool' : near.join(', ');
  const more = job.tools.length > near.length ? ' and others' : '';
  return cut(`there is no tool ${name} in \`tools\`; the code may call ${allowed}${more}`);
}

/** Splits `server.tool` for `tools.server.tool`. */
function splitName(name: string): readonly [server: string, tool: string, name: string] {
  const dot = name.indexOf('.');
  return dot < 0 ? [name, '', name] : [name.slice(0, dot), name.slice(dot + 1), name];
}

/** Returns the end of the code; undefined if it waits for calls. */
function stateOf(context: QuickJSContext, result: QuickJSHandle, waiting: number): SandboxMessage | undefined {
  const state = context.getPromiseState(result);
  if (state.type === 'rejected') return failureOf(context, state.error);
  if (state.type === 'fulfilled') {
    if (lengthOf(context, state.value) > MAX_JSON_CHARS) return { kind: 'exceeded', limit: 'result' };
    return { kind: 'done', value: context.getString(state.value) };
  }
  if (waiting > 0) return undefined;
  return { kind: 'failed', message: 'the code waits for a promise that nothing can settle' };
}

/** Returns the length of a text before it is copied. */
function lengthOf(context: QuickJSContext, handle: QuickJSHandle): number {
  return context.typeof(handle) === 'string'
    ? context.getProp(handle, 'length').consume((length) => context.getNumber(length))
    : Number.POSITIVE_INFINITY;
}

function failureOf(context: QuickJSContext, error: QuickJSHandle): SandboxFailure {
  const name = textIn(context, error, 'name');
  const message = textIn(context, error, 'message');
  // Without memory there is no error to throw.
  if (message === 'out of memory' || (isMemoryFull && name === '')) return { kind: 'exceeded', limit: 'memory' };
  const line = Number(LINE.exec(textIn(context, error, 'stack'))?.[1]);
  const shown = name === '' && message === '' ? thrownText(context, error) : `${name || 'Error'}: ${message}`;
  return { kind: 'failed', message: cut(shown), ...(line > 1 && { line: line - 1 }) };
}

/** Reads a text of an error. Getters of the code run here, within the same limits. */
function textIn(context: QuickJSContext, error: QuickJSHandle, key: string): string {
  if (context.typeof(error) !== 'object') return '';
  try {
    return context
      .getProp(error, key)
      .consume((value) => (lengthOf(context, value) <= MAX_JSON_CHARS ? context.getString(value) : ''));
  } catch {
    return '';
  }
}

function thrownText(context: QuickJSContext, thrown: QuickJSHandle): string {
  const isText = lengthOf(context, thrown) <= MAX_JSON_CHARS;
  return isText
    ? `it threw the text ${JSON.stringify(cut(context.getString(thrown)))}`
    : 'it threw a value that is no error';
}

function cut(text: string): string {
  return text.slice(0, MAX_MESSAGE_CHARS);
}
