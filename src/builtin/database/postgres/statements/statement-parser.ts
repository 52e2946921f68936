import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';

/** The answer of the parser thread: the tree as JSON text, or why there is none. */
export type ParserReply =
  | { readonly tree: string }
  | { readonly syntax: { readonly message: string; readonly position: number } }
  /** The parser overflowed its stack or its memory. The thread is not used again. */
  | { readonly broken: true }
  /** The package of the parser cannot be loaded. */
  | { readonly missing: string };

interface Thread {
  parse(sql: string): Promise<ParserReply>;
  isBroken: boolean;
}

const THREAD = join(import.meta.dirname, `parser-thread${extname(import.meta.filename)}`);

let current: Thread | undefined;

/**
 * Parses one statement in a thread that all connections share. The parser is a WebAssembly module: a statement that
 * overflows it corrupts its memory, so the thread ends then and the next statement starts another.
 */
export async function parseInThread(sql: string): Promise<ParserReply> {
  if (!current || current.isBroken) current = startThread();
  return current.parse(sql);
}

function startThread(): Thread {
  // Without the flags of this process, whose preloaded modules are not meant for the thread.
  const worker = new Worker(THREAD, { execArgv: [] });
  const waiting: { readonly sql: string; readonly resolve: (reply: ParserReply) => void }[] = [];

  /** Replies to the statement in the parser, and gives those behind it to another thread. */
  function end(reply: ParserReply): void {
    if (thread.isBroken) return;
    thread.isBroken = true;
    void worker.terminate();
    const [first, ...others] = waiting.splice(0);
    first?.resolve(reply);
    for (const { sql, resolve } of others) void parseInThread(sql).then(resolve);
  }

  const thread: Thread = {
    isBroken: false,
    parse(sql) {
      const { promise, resolve } = Promise.withResolvers<ParserReply>();
      waiting.push({ sql, resolve });
      worker.ref();
      // One at a time: a statement that breaks the parser must not take others with it.
      if (waiting.length === 1) worker.postMessage(sql);
      return promise;
    },
  };
  worker.on('message', (reply: ParserReply) => {
    if ('broken' in reply) return end(reply);
    waiting.shift()?.resolve(reply);
    const next = waiting[0];
    if (next) worker.postMessage(next.sql);
    else worker.unref(); // An idle thread keeps no process alive.
  });
  worker.on('error', (error) => end(isOutOfMemory(error) ? { broken: true } : { missing: String(error) }));
  worker.on('exit', () => end({ broken: true }));
  worker.unref();
  return thread;
}

const isOutOfMemory = (error: unknown): boolean =>
  (error as { readonly code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY';
