// Executes steps of five runs at once until it is killed. Prints `<run> <sequence>` after the intent of each step.
import { openStore } from '../../src/store/open-store.ts';
import { runLease } from '../../src/store/run-journal.ts';

const store = await openStore({ location: process.argv[2] as string });

async function execute(run: string): Promise<void> {
  const lease = await store.leases.acquire(runLease(run), 600_000);
  if (!lease) throw new Error('The lease is held.');
  const fence = { run, epoch: lease.epoch };
  const write = (sequence: number, kind: string) =>
    store.runs.append({ fence, entries: [{ sequence, at: sequence, kind, path: 'step', detail: {} }] }, 'soon');
  for (let sequence = 1; ; sequence += 2) {
    void write(sequence, 'started');
    const callId = `${run} ${sequence}`;
    const record = {
      callId,
      phase: 'intent',
      at: sequence,
      caller: 'ci',
      via: 'workflow',
      name: 'demo.write',
    } as const;
    await store.audit.appendDurably({ ...record, detail: {} }, fence);
    process.stdout.write(`${callId}\n`);
    void write(sequence + 1, 'finished');
  }
}

await Promise.all(process.argv.slice(3).map(execute));
