// Runs in a mount namespace with a small file system at the path of its argument. Prints one JSON object.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openHeddle } from '../../src/index.ts';
import { openStore } from '../../src/store/open-store.ts';
import { recordingServer, text } from '../servers/recording-server.ts';

const disk = process.argv[2] as string;
writeFileSync(join(disk, 'note.txt'), 'A short note.');
const location = join(disk, 'heddle.sqlite');
const server = recordingServer({ write: () => text('written'), ask: () => text('ran') });
const heddle = await openHeddle({
  store: location,
  cwd: disk,
  env: { HEDDLE_HOME: join(disk, 'home') },
  config: {
    mcpServers: {},
    permissions: { allow: ['mcp__demo__write'], ask: ['mcp__demo__ask'] },
  },
  servers: { demo: server },
});
const outcomeOf = (name: string, input = {}) =>
  heddle.call(name, input).then(
    () => 'ok',
    ({ code }: { code: string }) => code,
  );

/** Fills the disk to its last byte. */
function fill(): void {
  for (let size = 64 * 1024, count = 0; size >= 1; count += 1) {
    try {
      writeFileSync(join(disk, `filler-${count}`), Buffer.alloc(size));
    } catch {
      rmSync(join(disk, `filler-${count}`), { force: true });
      size = Math.floor(size / 2);
    }
    if (count > 10_000) break;
  }
}

const free = async () => {
  const { readdirSync } = await import('node:fs');
  for (const name of readdirSync(disk)) if (name.startsWith('filler-')) rmSync(join(disk, name));
};

const before = [await outcomeOf('demo.write'), await outcomeOf('demo.ask')];
const [approval] = await heddle.approvals.list();
fill();
const writes: string[] = [];
while (writes.at(-1) !== 'AUDIT_UNAVAILABLE' && writes.length < 100) writes.push(await outcomeOf('demo.write'));
const full = {
  write: await outcomeOf('demo.write'),
  read: await outcomeOf('filesystem.fs_read_file', { path: 'note.txt' }),
};
const decided = await heddle.approvals.approve(approval?.id ?? '').then(
  () => 'approved',
  ({ code }: { code: string }) => code,
);
const status = (await heddle.approvals.get(approval?.id ?? '')).status;
const sentWhileFull = server.calls.length;
await free();
const after = [await outcomeOf('demo.write')];
if (decided !== 'approved') await heddle.approvals.approve(approval?.id ?? '');
after.push(await outcomeOf('demo.ask'));
await heddle.close();

const store = await openStore({ location });
const { faults } = await store.audit.verify({ signal: new AbortController().signal });
await store.close();
const written = writes.filter((one) => one === 'ok').length;
process.stdout.write(JSON.stringify({ before, written, full, decided, status, sentWhileFull, after, faults }));
