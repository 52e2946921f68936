// The reader thread: it runs one job on a read-only connection, and ends.
import { once } from 'node:events';
import { getPriority, setPriority } from 'node:os';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openTable } from './open-table.ts';
import { pacedTable } from './paced-table.ts';
import { readAudit } from './read-audit.ts';
import type { ReaderJob, ReaderMessage } from './reader-job.ts';
import { tableSource } from './table-source.ts';
import { verifyChains } from './verify-chains.ts';

const READER_NICE = 19;

if (parentPort) {
  lowerThreadPriority();
  await run(workerData as ReaderJob, parentPort);
}

/** Lowers the priority of this thread. Only on Linux: elsewhere it would be that of the process. */
function lowerThreadPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Math.max(getPriority(), READER_NICE));
  } catch {
    // A sandbox may forbid it: the thread then runs with its normal priority.
  }
}

async function run(job: ReaderJob, port: MessagePort): Promise<void> {
  const post = (message: ReaderMessage) => port.postMessage(message);
  try {
    const opened = await openTable(job.location);
    const table = pacedTable(opened);
    try {
      if (job.kind === 'read') {
        for await (const rows of readAudit(table, job.query, job.range)) {
          const wanted = once(port, 'message');
          post({ rows });
          await wanted;
        }
        post({ done: undefined });
      } else post({ done: await verifyChains(tableSource(table), job.head) });
    } finally {
      await opened.close();
    }
  } catch (thrown) {
    const { message, code } = thrown as NodeJS.ErrnoException;
    post({ error: { message: message || String(code), code } });
  }
}
