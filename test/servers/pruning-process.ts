// Prunes a store and kills itself before or after one of its writes: node pruning-process.ts <location> <before> <point>
import { openAuditLog } from '../../src/store/audit/open-audit-log.ts';
import { WriteQueue } from '../../src/store/audit/write-queue.ts';
import { openPostgres } from '../../src/store/postgres/open-postgres.ts';
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts';

const [location = '', before = '', point = ''] = process.argv.slice(2);
const clock = () => 9_000;
const open = location.startsWith('postgres') ? openPostgres : openSqlite;
const opened = await open(location, 'the store', { clock, durability: 'commit' });

let steps = 0;
function step(): void {
  if (steps++ === Number(point)) process.kill(process.pid, 'SIGKILL');
}

async function killedAround<T>(write: () => Promise<T>): Promise<T> {
  step();
  const result = await write();
  step();
  return result;
}

const { statements } = opened;
const database: typeof opened = {
  ...opened,
  write: (batch) => killedAround(async () => opened.write(batch)),
  statements: { ...statements, write: (batch) => killedAround(async () => statements.write(batch)) },
};
const queue = new WriteQueue(database.write, clock, async () => undefined);
const log = openAuditLog({ database, queue, clock, location, guard: (reading) => reading });
await log.prune(Number(before), {});
await queue.close();
await database.close();
