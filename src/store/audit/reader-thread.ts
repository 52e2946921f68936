import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { HeddleError } from '../../core/errors.ts';
import type { AuditVerification } from '../../core/records/audit-entry.ts';
import type { StoredRow } from './read-audit.ts';
import type { ReaderJob, ReaderMessage } from './reader-job.ts';

const THREAD = join(import.meta.dirname, `audit-reader${extname(import.meta.filename)}`);

/**
 * Runs a job in a thread with a read-only connection of its own. node:sqlite is synchronous: in this thread a search
 * would stop all calls. The thread reads one batch ahead of the consumer at most, and ends with the iteration.
 */
export async function* readInThread(
  job: ReaderJob,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredRow[], AuditVerification | undefined> {
  signal.throwIfAborted();
  // Without the flags of this process, whose preloaded modules are not meant for the thread.
  const worker = new Worker(THREAD, { workerData: job, execArgv: [] });
  let waiting = nextMessage();
  worker.on('message', (message: ReaderMessage) => waiting.resolve(message));
  worker.on('error', (cause) => waiting.reject(cause));
  worker.on('exit', () => waiting.reject(new Error('the reader thread ended early')));
  const abort = () => waiting.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    for (;;) {
      const message = await waiting.promise;
      if ('error' in message) throw toError(message.error);
      if ('done' in message) return message.done;
      waiting = nextMessage();
      worker.postMessage('next');
      yield message.rows;
      signal.throwIfAborted();
    }
  } finally {
    signal.removeEventListener('abort', abort);
    waiting.promise.catch(() => {}); // The end of the thread is expected from here on.
    await worker.terminate();
  }
}

function nextMessage(): PromiseWithResolvers<ReaderMessage> {
  const waiting = Promise.withResolvers<ReaderMessage>();
  waiting.promise.catch(() => {}); // It may fail while the consumer handles a batch; the next turn of the loop throws.
  return waiting;
}

const toError = ({ message, code }: { message: string; code?: string | undefined }): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code });

/** Runs a verification in a thread. */
export async function verifyInThread(
  job: Extract<ReaderJob, { kind: 'verify' }>,
  signal: AbortSignal,
): Promise<AuditVerification> {
  const { value } = await readInThread(job, signal).next();
  if (value && 'faults' in value) return value;
  throw new HeddleError('INTERNAL', 'The reader thread returned no verification.');
}
