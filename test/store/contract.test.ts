import { describe, expect, it } from 'vitest';
import { type Bench, onEveryDialect, recordOf, spanOf } from '../../src/store/fixtures.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { verifies } from '../requirements.ts';

const FOREVER = new AbortController().signal;

onEveryDialect((bench) => {
  describe('records', () => recordsContract(bench));
  describe('batches', () => turnsContract(bench));
  describe('chains', () => chainsContract(bench));
  describe('failure', () => failureContract(bench));
  describe('schema', () => schemaContract(bench));
  describe('servers', () => serversContract(bench));
});

function recordsContract(bench: Bench): void {
  verifies('G11', 'finds records newest first, by time, caller and call', async () => {
    const { audit } = bench.store;
    audit.append(recordOf({ callId: '1', at: 1 }));
    audit.append(recordOf({ callId: '2', at: 2, caller: 'grace' }));
    audit.append(recordOf({ callId: '3', at: 3 }));
    await audit.appendDurably(recordOf({ callId: '4', at: 3 }));
    const found = async (query: object) => (await audit.search({ limit: 10, ...query })).map(({ callId }) => callId);
    expect(await found({})).toEqual(['4', '3', '2', '1']);
    expect(await found({ limit: 2 })).toEqual(['4', '3']);
    expect(await found({ since: 2 })).toEqual(['4', '3', '2']);
    expect(await found({ caller: 'ada' })).toEqual(['4', '3', '1']);
    expect(await found({ callId: '2' })).toEqual(['2']);
    expect(await found({ callId: '2', caller: 'ada' })).toEqual([]);
  });

  it('returns a record as it was written', async () => {
    const detail = { arguments: { text: 'a\u0000b "quoted" \\ {x,y} ✓', list: [1.5, null] }, '': {} };
    const record = recordOf({ phase: 'intent', at: 1.5, detail });
    await bench.store.audit.appendDurably(record);
    expect(await bench.store.audit.search({ limit: 1 })).toEqual([record]);
  });

  it('stores a name with characters that the database refuses, and its chain stays intact', async () => {
    const { audit } = bench.store;
    await audit.appendDurably(recordOf({ name: 'half \ud800 nul \u0000', at: Number.NaN }));
    expect(await audit.search({ limit: 1 })).toMatchObject([{ name: 'half \ufffd nul \ufffd', at: 0 }]);
    expect((await audit.verify({ signal: FOREVER })).faults).toEqual([]);
  });

  verifies('G11', 'commits a durable record before it settles', async () => {
    await bench.store.audit.appendDurably(recordOf());
    expect(await countOf(bench, 'audit')).toBe(1);
  });
}

function turnsContract(bench: Bench): void {
  verifies('G11', 'writes the records of one turn in one transaction', async () => {
    const { audit } = bench.store;
    await bench.database.run('CREATE UNIQUE INDEX once ON audit (name)');
    await audit.appendDurably(recordOf({ name: 'an earlier turn' }));
    const turn = ['a', 'b', 'b'].map((name) => audit.appendDurably(recordOf({ name })));
    const outcomes = await Promise.allSettled(turn);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await countOf(bench, 'audit')).toBe(1);
  });

  it('writes more records in one turn than a statement may have parameters', async () => {
    for (let number = 0; number < 12_000; number += 1) bench.store.audit.append(recordOf());
    await bench.store.audit.appendDurably(recordOf());
    expect(await bench.store.audit.verify({ signal: FOREVER })).toMatchObject({
      records: 12_001,
      segments: 1,
      faults: [],
    });
  });

  it('writes queued records on close, and refuses durable ones after it', async () => {
    bench.store.audit.append(recordOf());
    bench.store.traces.append(spanOf());
    await bench.store.close();
    await bench.store.close();
    expect([await countOf(bench, 'audit'), await countOf(bench, 'spans')]).toEqual([1, 1]);
    await expect(bench.store.audit.appendDurably(recordOf())).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  });
}

const COLUMNS = 'segment, sequence, hash, call_id, phase, at, caller, via, name, detail';

function chainsContract(bench: Bench): void {
  const writeFive = ({ audit }: Store) =>
    Promise.all([1, 2, 3, 4, 5].map((at) => audit.appendDurably(recordOf({ at, name: `tool ${at}` }))));

  verifies('G11', 'keeps a chain intact over several turns', async () => {
    await writeFive(bench.store);
    await writeFive(bench.store);
    expect(await bench.store.audit.verify({ signal: FOREVER })).toMatchObject({ records: 10, segments: 1, faults: [] });
  });

  const tampering: readonly [
    what: string,
    sql: string,
    found: readonly (readonly [kind: string, sequence: number])[],
  ][] = [
    ['changed name', "UPDATE audit SET name = 'harmless' WHERE sequence = 3", [['changed', 3]]],
    ['changed detail', `UPDATE audit SET detail = '{"outcome": "ok"}' WHERE sequence = 3`, [['changed', 3]]],
    [
      'word moved to the next column',
      "UPDATE audit SET caller = '', via = caller || via WHERE sequence = 3",
      [['changed', 3]],
    ],
    ['forged hash', `UPDATE audit SET hash = '${'0'.repeat(64)}' WHERE sequence = 3`, [['changed', 3]]],
    ['removed record', 'DELETE FROM audit WHERE sequence = 3', [['removed', 3]]],
    ['removed beginning', 'DELETE FROM audit WHERE sequence = 1', [['removed', 1]]],
    ['renumbered record', 'UPDATE audit SET sequence = 9 WHERE sequence = 2', [['changed', 2]]],
    [
      'repeated record',
      `INSERT INTO audit (${COLUMNS}) SELECT ${COLUMNS} FROM audit WHERE sequence = 2`,
      [['inserted', 2]],
    ],
  ];
  for (const [what, sql, found] of tampering) {
    verifies('G11', `finds a ${what}`, async () => {
      await writeFive(bench.store);
      await bench.database.run(sql);
      const { faults } = await bench.store.audit.verify({ signal: FOREVER });
      expect(faults.map(({ kind, sequence }) => [kind, sequence])).toEqual(found);
    });
  }

  it('returns a record whose detail is no JSON', async () => {
    await bench.store.audit.appendDurably(recordOf());
    await bench.database.run("UPDATE audit SET detail = 'gone'");
    expect(await bench.store.audit.search({ limit: 1 })).toMatchObject([{ detail: { unreadable: 'gone' } }]);
  });

  verifies('G11', 'gives each of two writers of one database its own chain', async () => {
    const other = await openStore({ location: bench.database.location });
    await Promise.all([writeFive(bench.store), writeFive(other)]);
    expect(await other.audit.verify({ signal: FOREVER })).toMatchObject({ records: 10, segments: 2, faults: [] });
    await other.close();
  });

  it('stops verifying when the signal aborts', async () => {
    await writeFive(bench.store);
    await expect(bench.store.audit.verify({ signal: AbortSignal.abort() })).rejects.toThrow(/aborted/);
  });
}

function failureContract(bench: Bench): void {
  verifies('G11', 'rejects a durable record that cannot be written, and writes the others later', async () => {
    const { audit } = bench.store;
    await audit.appendDurably(recordOf({ name: 'before' }));
    await bench.database.run('ALTER TABLE audit RENAME TO away');
    audit.append(recordOf({ name: 'kept' }));
    await expect(audit.appendDurably(recordOf({ name: 'refused' }))).rejects.toMatchObject({
      code: 'AUDIT_UNAVAILABLE',
    });
    await bench.database.run('ALTER TABLE away RENAME TO audit');
    await audit.appendDurably(recordOf({ name: 'after' }));
    const names = (await audit.search({ limit: 9 })).map(({ name }) => name);
    expect(names).toEqual(['after', 'kept', 'before']);
    expect((await audit.verify({ signal: FOREVER })).faults).toEqual([]);
  });

  it('reports the number of lost records on close', async () => {
    await bench.database.run('ALTER TABLE audit RENAME TO away');
    bench.store.audit.append(recordOf());
    await expect(bench.store.close()).rejects.toMatchObject({
      code: 'AUDIT_UNAVAILABLE',
      message: 'The store was closed with 1 audit record unwritten.',
    });
  });

  it('reports a missing table as STORE_UNAVAILABLE', async () => {
    await bench.database.run('DROP TABLE servers');
    await expect(bench.store.servers.all()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
}

function schemaContract(bench: Bench): void {
  it('keeps all rows when it is opened again', async () => {
    await bench.store.audit.appendDurably(recordOf());
    await bench.store.close();
    bench.store = await openStore({ location: bench.database.location });
    expect(await bench.store.audit.search({ limit: 9 })).toHaveLength(1);
  });

  it('lets several processes open an empty database at once', async () => {
    await bench.store.close();
    await bench.database.empty();
    const { location } = bench.database;
    const stores = await Promise.all([1, 2, 3, 4].map(() => openStore({ location })));
    await Promise.all(stores.map((store) => store.audit.appendDurably(recordOf())));
    expect(await countOf(bench, 'audit')).toBe(4);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('refuses a schema of a newer Heddle', async () => {
    await bench.database.setVersion(99);
    await expect(openStore({ location: bench.database.location })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/newer Heddle: its schema is version 99, this one knows \d+/),
    });
  });
}

function serversContract(bench: Bench): void {
  const tools = [{ name: 'echo', inputSchema: { type: 'object' }, 'x-unknown': { b: 1, a: [null] } }];
  const lists = { tools, resources: [{ uri: 'a:b' }], templates: [{ uriTemplate: 'a:{b}' }], prompts: [{ name: 'p' }] };
  const memory = { server: 'demo', capabilitySet: 0, signature: 'sha', era: 'modern', lists, at: 1_000 } as const;

  verifies('T3', 'keeps the definitions of a server unchanged', async () => {
    const { servers } = bench.store;
    await servers.remember({ ...memory, server: 'other' });
    await servers.remember(memory);
    expect(await servers.all()).toEqual([memory, { ...memory, server: 'other' }]);
    expect(JSON.stringify((await servers.all())[0]?.lists)).toBe(JSON.stringify(lists));
  });

  verifies('T13', 'keeps the lists of a capability set below 2^53, and the extensions of the server', async () => {
    const { servers } = bench.store;
    const extensions = { 'com.example/maps': { zoom: 3 }, 'com.example/plain': {} };
    const large = { ...memory, capabilitySet: Number.MAX_SAFE_INTEGER, extensions };
    await servers.remember(memory);
    await servers.remember(large);
    expect(await servers.all()).toEqual([memory, large]);
    await servers.remember({ ...memory, capabilitySet: Number.MAX_SAFE_INTEGER - 1 });
    await servers.forget({ server: 'demo', capabilitySet: Number.MAX_SAFE_INTEGER - 1 });
    expect(await servers.all()).toEqual([memory, large]);
  });

  verifies('T3', 'keeps the last failure of a server until it has connected, and none older than an hour', async () => {
    const { failures } = bench.store;
    const failure = {
      server: 'demo',
      signature: 'sha',
      at: 1_000,
      code: 'UPSTREAM_TIMEOUT',
      message: 'm',
      fix: 'f',
    } as const;
    await failures.put(failure);
    await failures.put({ ...failure, at: 2_000, message: 'newer' });
    await failures.put({ ...failure, signature: 'other', at: 3_000 });
    expect((await failures.all()).toSorted((a, b) => a.at - b.at)).toEqual([
      { ...failure, at: 2_000, message: 'newer' },
      { ...failure, signature: 'other', at: 3_000 },
    ]);
    await failures.remove(failure);
    expect(await failures.all()).toEqual([{ ...failure, signature: 'other', at: 3_000 }]);
    await failures.put({ ...failure, at: 3_700_000 });
    expect(await failures.all()).toEqual([{ ...failure, at: 3_700_000 }]);
  });

  verifies(
    'C2',
    'keeps the transport that was found out for a URL and the instructions, and forgets them with the next entry',
    async () => {
      const { servers } = bench.store;
      await servers.remember({ ...memory, urlTransport: 'sse', instructions: 'Be kind.\n' });
      expect(await servers.all()).toEqual([{ ...memory, urlTransport: 'sse', instructions: 'Be kind.\n' }]);
      await servers.remember(memory);
      expect(await servers.all()).toEqual([memory]);
    },
  );

  verifies('T11', 'replaces the era of a server by the newest one', async () => {
    const { servers } = bench.store;
    await servers.remember(memory);
    const newer = {
      server: 'demo',
      capabilitySet: 0,
      signature: 'new',
      era: 'legacy',
      lists: { ...lists, tools: [] },
      at: 2_000,
    } as const;
    await servers.remember(newer);
    expect(await servers.all()).toEqual([newer]);
  });

  verifies('T3', 'keeps the lists of a server separately for each set of client capabilities', async () => {
    const { servers } = bench.store;
    const more = { ...memory, capabilitySet: 5, lists: { ...lists, tools: [...tools, { name: 'ask' }] } };
    await servers.remember(memory);
    await servers.remember(more);
    expect(await servers.all()).toEqual([memory, more]);
  });

  it.each(['tools', 'resources', 'templates', 'prompts'])(
    'drops the lists of a server whose %s cannot be parsed',
    async (list) => {
      await bench.store.servers.remember(memory);
      await bench.database.run(`UPDATE servers SET ${list} = 'gone'`);
      expect(await bench.store.servers.all()).toEqual([]);
    },
  );
}

async function countOf({ database }: Bench, table: string): Promise<number> {
  return Number((await database.run(`SELECT count(*) AS count FROM ${table}`))[0]?.count);
}
