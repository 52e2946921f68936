import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { within } from '../../../test/limits.ts';
import { verifies } from '../../../test/requirements.ts';
import { type FreshDatabase, freshSqlite, recordOf } from '../fixtures.ts';
import { openStore } from '../open-store.ts';
import { openSqlite } from './open-sqlite.ts';

const OPEN_STORE = join(import.meta.dirname, '..', 'open-store.ts');

describe('a store in a SQLite file', () => {
  let database: FreshDatabase;
  beforeEach(async () => {
    database = await freshSqlite();
    await openStore({ location: database.location }).then((store) => store.close());
  });
  afterEach(() => database.remove());

  /** Writes a small program beside the database. Returns the arguments that run it. */
  function program(body: string): string[] {
    const path = join(dirname(database.location), 'program.ts');
    writeFileSync(
      path,
      `import { openStore } from ${JSON.stringify(OPEN_STORE)};
       const store = await openStore({ location: ${JSON.stringify(database.location)} });
       const record = ${JSON.stringify(recordOf())};
       ${body}`,
    );
    return [path];
  }

  it('has mode 0600, side files included', async () => {
    const store = await openStore({ location: database.location });
    await store.audit.appendDurably(recordOf());
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect(modeOf(dirname(database.location))).toBe('700');
    expect(['', '-wal', '-shm'].map((side) => modeOf(database.location + side))).toEqual(['600', '600', '600']);
    await store.close();
  });

  verifies('G11', 'waits for the disk with each commit if the durability is `disk`', async () => {
    for (const [durability, level] of [
      ['commit', 1],
      ['disk', 2],
    ] as const) {
      const { statements, close } = await openSqlite(database.location, '', { clock: () => 0, durability });
      const levelNow = async () => (await statements.read({ sql: 'PRAGMA synchronous', values: [] }))[0]?.synchronous;
      expect(await levelNow()).toBe(level);
      await statements.write([{ sql: 'DELETE FROM leases', values: [] }], { durable: true });
      expect(await levelNow()).toBe(level);
      await close();
    }
  });

  it('opens an up-to-date store without the query builder and without a warning', () => {
    const appending = 'await store.audit.appendDurably(record); await store.servers.all();';
    expect(complaintsOf(program(`${appending} await store.close();`))).toBe('');
    expect(complaintsOf(program(`${appending} await store.traces.stats(0); await store.close();`))).toBe('kysely');
  });

  it('drops server lists of an older Heddle, which lack the client capabilities', async () => {
    const old = new DatabaseSync(database.location);
    old.exec('DROP TABLE servers');
    old.exec('CREATE TABLE servers (server TEXT PRIMARY KEY, signature TEXT, era TEXT, tools TEXT, at REAL)');
    for (const column of ['server', 'agent']) old.exec(`ALTER TABLE spans DROP COLUMN ${column}`);
    old.exec('ALTER TABLE audit DROP COLUMN link');
    const tables = old.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const later = tables.filter(({ name }) => !['audit', 'spans', 'servers'].includes(String(name)));
    for (const { name } of later) old.exec(`DROP TABLE ${name}`);
    old.exec(`INSERT INTO servers VALUES ('demo', 'sha', 'legacy', '[{"name":"echo"}]', 1000)`);
    old.exec('PRAGMA user_version = 1');
    old.close();
    const store = await openStore({ location: database.location });
    expect(await store.servers.all()).toEqual([]);
    await store.close();
  });

  verifies('G11', 'keeps a durable record after kill -9', async () => {
    const child = spawn(
      process.execPath,
      program(`for (let number = 1; ; number += 1) {
         await store.audit.appendDurably({ ...record, at: number });
         process.stdout.write(\`\${number}\\n\`);
       }`),
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const settled = await killAfter(child, 20);
    const store = await openStore({ location: database.location });
    const report = await store.audit.verify({ signal: new AbortController().signal });
    expect(settled).toBeGreaterThanOrEqual(20);
    expect(report.records).toBeGreaterThanOrEqual(settled);
    expect(report.faults).toEqual([]);
    await store.close();
  });

  verifies('G11', 'rejects durable records while another process holds the lock, and delays the others', async () => {
    const store = await openStore({ location: database.location });
    const other = new DatabaseSync(database.location);
    other.exec('BEGIN IMMEDIATE');
    store.audit.append(recordOf({ name: 'kept' }));
    const refused = { code: 'AUDIT_UNAVAILABLE', message: expect.stringContaining('locked') };
    await expect(store.audit.appendDurably(recordOf())).rejects.toMatchObject(refused);
    // After the first wait failed, the next attempt does not block reads.
    await within(2000, () => expect(store.audit.appendDurably(recordOf())).rejects.toMatchObject(refused));
    expect(await store.audit.search({ limit: 9 })).toEqual([]);
    other.exec('ROLLBACK');
    await store.audit.appendDurably(recordOf({ name: 'after' }));
    expect((await store.audit.search({ limit: 9 })).map(({ name }) => name)).toEqual(['after', 'kept']);
    other.close();
    await store.close();
  });
});

/** Returns the stderr of a program, with the name of the query builder added when it is loaded. */
function complaintsOf(args: readonly string[]): string {
  const hook = `import { registerHooks } from 'node:module';
    let printed = false;
    registerHooks({
      resolve(name, context, next) {
        if (name === 'kysely' && !printed) process.stderr.write(name);
        printed ||= name === 'kysely';
        return next(name, context);
      },
    });`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  return spawnSync(process.execPath, [...preload, ...args], { encoding: 'utf8' }).stderr;
}

/** Kills the child after it has printed `count` records. Returns the last one printed. */
async function killAfter(child: ChildProcess, count: number): Promise<number> {
  let printed = '';
  child.stdout?.on('data', (chunk) => {
    printed += chunk;
    if (printed.split('\n').length > count) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return Number(printed.slice(0, printed.lastIndexOf('\n')).split('\n').at(-1));
}
