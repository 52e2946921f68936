import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HeddleError } from '../core/errors.ts';
import { recordOf } from './fixtures.ts';
import { openStore } from './open-store.ts';

const failureOf = (location: string): Promise<HeddleError> =>
  openStore({ location }).then(
    () => expect.fail('it opened'),
    (error) => HeddleError.from(error),
  );

describe('opening a store', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'heddle-open-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('opens a store in memory', async () => {
    const store = await openStore({ location: ':memory:' });
    await store.audit.appendDurably(recordOf());
    expect(await store.audit.search({ limit: 9 })).toEqual([recordOf()]);
    await store.close();
  });

  it('names the file when it is no database', async () => {
    const location = join(folder, 'notes.txt');
    writeFileSync(location, 'not a database, but long enough to be looked at as one');
    const error = await failureOf(location);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(error.message).toContain(location);
  });

  it('names the folder when it cannot be created', async () => {
    writeFileSync(join(folder, 'file'), '');
    const location = join(folder, 'file', 'heddle.db');
    const error = await failureOf(location);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(error.message).toContain(location);
  });

  it.each([
    ['that does not answer', 'postgres://ada:hunter2@127.0.0.1:1/heddle?password=hunter2', '127.0.0.1:1/heddle'],
    ['that is no URL', 'postgresql://ada:hunter2@[/heddle', 'postgresql://…'],
    ['of an unknown kind', 'mysql://ada:hunter2@localhost/heddle', 'mysql://localhost/heddle'],
  ])('names a URL %s without its password', async (_kind, location, named) => {
    const error = await failureOf(location);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(error.message).toContain(named);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
  });

  it('names the missing package for a Postgres store', () => {
    // A copy outside of node_modules, where `pg` is not installed.
    for (const part of ['core', 'files', 'store'])
      cpSync(join(import.meta.dirname, '..', part), join(folder, part), { recursive: true });
    writeFileSync(
      join(folder, 'open.ts'),
      `import { openStore } from './store/open-store.ts';
       await openStore({ location: 'postgres://localhost/heddle' }).catch((error) => process.stdout.write(error.code));`,
    );
    expect(execFileSync(process.execPath, [join(folder, 'open.ts')], { encoding: 'utf8' })).toBe('DRIVER_MISSING');
  });
});
