import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../test/requirements.ts';
import { ableServer } from '../test/servers/able-server.ts';
import { temporaryFolder, temporaryHeddle } from '../test/temporary-heddle.ts';
import { until } from '../test/until.ts';
import type { Call, Caller, ClientCapabilities, JsonObject } from './core/call.ts';
import type { Change } from './core/records/server-status.ts';
import type { Heddle } from './heddle.ts';
import type { HeddleOptions } from './open-heddle.ts';

const FORM: ClientCapabilities = { form: true, url: false, sampling: false, samplingTools: false, roots: false };
const PLAIN: Caller = { id: 'ann', roles: ['user'], via: 'gateway' };
const ABLE: Caller = { ...PLAIN, capabilities: FORM };
// Enough for a server in this process, on a busy machine.
const LONG_MS = 20_000;
const signal = new AbortController().signal;

const callOf = (name: string, caller: Caller): Call => ({
  id: crypto.randomUUID(),
  kind: 'tool',
  name,
  input: {},
  meta: {},
  caller,
  options: {},
  signal,
  ...(caller.capabilities && { capabilities: caller.capabilities }),
});

const opened = (folder: string, options: HeddleOptions): Promise<Heddle> =>
  temporaryHeddle({ folder, env: {}, trustProject: true, ...options });

const namesFor = async (heddle: Heddle, by: Caller, waitMs?: number) =>
  (await heddle.catalog.list(by, { server: 'up', ...(waitMs !== undefined && { waitMs }) })).items.map(
    ({ name }) => name,
  );

const hasToolList = ({ kind, detail }: Change) =>
  kind === 'server' && detail.event !== 'notification' && detail.list === 'tools';

/** Collects the changes of the catalog from now on. */
function toldBy(heddle: Heddle): readonly Change[] {
  const told: Change[] = [];
  void (async () => {
    for await (const change of heddle.changes(PLAIN, signal)) if (change.kind === 'catalog') told.push(change);
  })();
  return told;
}

/** A Heddle with one such server that is connected, and what it tells of its catalog from now on. */
async function running(config: JsonObject = {}, others: NonNullable<HeddleOptions['servers']> = {}) {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'heddle.json'), JSON.stringify(config));
  const server = ableServer({ all: '', interrogate: 'elicitation' });
  const heddle = await opened(folder, { servers: { up: server, ...others } });
  await namesFor(heddle, PLAIN);
  return { heddle, server, told: toldBy(heddle), folder };
}

describe('what a server lists only to those who can be asked', () => {
  verifies('T3', 'is remembered beside what it lists to everybody, whoever connected last', async () => {
    const folder = await temporaryFolder();
    const servers = { up: ableServer({ all: '', interrogate: 'elicitation' }) };
    const user = { principal: PLAIN.id, capabilities: FORM };
    const listed: unknown[] = [];
    for (const options of [{ servers, user }, { servers }, { servers, user }]) {
      const heddle = await opened(folder, options);
      listed.push(await namesFor(heddle, PLAIN));
      await heddle.close();
    }
    const asleep = { up: { connect: () => new Promise<void>(() => {}) } };
    for (const options of [{ servers: asleep }, { servers: asleep, user }]) {
      const heddle = await opened(folder, options);
      listed.push(await namesFor(heddle, PLAIN, 0));
      await heddle.close();
    }
    expect(listed).toEqual([['all', 'interrogate'], ['all'], ['all', 'interrogate'], ['all'], ['all', 'interrogate']]);
  });

  verifies('T3', 'is found while nobody waits, and told to those who see it', async () => {
    const { heddle, server, told } = await running();
    expect(await namesFor(heddle, ABLE)).toEqual(['all']);
    await until('more is found', () => told.length > 0);
    expect(told).toEqual([{ kind: 'catalog', subject: 'tools', detail: { capabilities: 1 } }]);
    expect([await namesFor(heddle, ABLE), await namesFor(heddle, PLAIN)]).toEqual([['all', 'interrogate'], ['all']]);
    expect(await namesFor(heddle, { ...ABLE, id: 'bob' })).toEqual(['all', 'interrogate']);
    expect(server.told).toEqual([{}, { elicitation: { form: {} } }]);
  });

  verifies('T3', 'does not exist for anybody else', async () => {
    const { heddle } = await running();
    await heddle.dispatch(callOf('mcp__up__interrogate', ABLE));
    const unknown = { code: 'NAME_UNKNOWN', fix: expect.not.stringContaining('interrogate') };
    const other = { ...PLAIN, capabilities: { ...FORM, form: false, roots: true } };
    for (const by of [PLAIN, other]) {
      await expect(heddle.dispatch(callOf('mcp__up__interrogate', by))).rejects.toMatchObject(unknown);
      await expect(heddle.dispatch(callOf('mcp__up__interrogat', by))).rejects.toMatchObject(unknown);
      await expect(heddle.catalog.describe(by, 'up.interrogate', signal)).rejects.toMatchObject(unknown);
      expect(await heddle.catalog.search(by, { text: 'interrogate' })).toEqual([]);
    }
    await expect(heddle.dispatch(callOf('mcp__up__interrogat', ABLE))).rejects.toMatchObject({
      fix: 'Did you mean mcp__up__interrogate?',
    });
    expect((await heddle.catalog.search(ABLE, { text: 'interrogate' })).map(({ target }) => target.name)).toEqual([
      'interrogate',
    ]);
  });

  verifies('T3', 'can be called before it was listed', async () => {
    const { heddle } = await running();
    expect(await heddle.dispatch(callOf('mcp__up__interrogate', ABLE))).toMatchObject({
      value: { content: [{ text: 'interrogate for elicitation' }] },
    });
  });

  verifies('T3', 'is governed like everything else', async () => {
    const { heddle } = await running({ permissions: { deny: ['mcp__up__interrogate'] } });
    await expect(heddle.dispatch(callOf('mcp__up__interrogate', ABLE))).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    expect(await namesFor(heddle, ABLE)).toEqual(['all']);
  });

  const MORE = { all: '', interrogate: 'elicitation', tell: 'elicitation' };
  const neverUp = { up: { connect: () => new Promise<void>(() => {}) } };

  verifies('T3', 'is followed when it changes before any call, and known after a restart without asking', async () => {
    const { heddle, server, told, folder } = await running();
    await namesFor(heddle, ABLE);
    await until('more is found', () => told.length > 0);
    server.change(MORE);
    await until('the change is published', async () =>
      (await namesFor(heddle, { ...ABLE, id: 'bob' })).includes('tell'),
    );
    expect(await namesFor(heddle, ABLE)).toEqual(['all', 'interrogate', 'tell']);
    expect(await namesFor(heddle, PLAIN)).toEqual(['all']);
    await heddle.close();
    const again = await opened(folder, { servers: neverUp });
    expect(await namesFor(again, ABLE, 0)).toEqual(['all', 'interrogate', 'tell']);
    expect(await namesFor(again, PLAIN, 0)).toEqual(['all']);
  });

  verifies('T3', 'is for its user alone when it changes after a call, until a new connection lists it', async () => {
    const { heddle, server, told, folder } = await running();
    await heddle.dispatch(callOf('mcp__up__interrogate', ABLE));
    server.change(MORE);
    await until('the change is heard of', () => told.length > 1);
    expect(await namesFor(heddle, ABLE)).toEqual(['all', 'interrogate', 'tell']);
    await heddle.close();
    const again = await opened(folder, { servers: neverUp });
    expect(await namesFor(again, ABLE, 0)).toEqual(['all', 'interrogate']);
    await again.close();

    const third = await opened(folder, { servers: { up: server } });
    await third.dispatch(callOf('mcp__up__interrogate', ABLE));
    const bob = { ...ABLE, id: 'bob' };
    await until('bob sees the change', async () => (await namesFor(third, bob)).includes('tell'));
  });

  verifies('R7', 'changes for one principal without a word to other readers of changes', async () => {
    const { heddle, server, told } = await running();
    const others: Change[] = [];
    void (async () => {
      for await (const change of heddle.changes({ ...PLAIN, id: 'bob', roles: ['operator'] }, signal))
        others.push(change);
    })();
    await heddle.dispatch(callOf('mcp__up__interrogate', ABLE));
    server.change(MORE);
    await until('ann is told', () =>
      told.some((change) => change.kind === 'catalog' && change.detail.user !== undefined),
    );
    server.change({ all: '', more: '' });
    await until('bob is told of the shared tools', () => others.some(hasToolList));
    expect(JSON.stringify(others)).not.toContain('ann');
  });

  verifies('P2', 'takes no bare name from what everybody in the profile sees', async () => {
    const config = { profiles: { bare: { naming: 'bare' } }, builtins: { filesystem: { enabled: false } } };
    const { heddle } = await running(config, { other: ableServer({ interrogate: '' }) });
    await heddle.dispatch(callOf('mcp__up__interrogate', ABLE));
    const seen = async (by: Caller) =>
      (await heddle.catalog.list({ ...by, profile: 'bare' }, {})).items.map(({ publicName }) => publicName);
    expect(await seen(ABLE)).toEqual(['mcp__other__interrogate', 'all', 'mcp__up__interrogate']);
    expect(await seen(PLAIN)).toEqual(['interrogate', 'all']);
  });

  verifies('T3', 'is looked for on no server that the caller may not see', async () => {
    const config = { profiles: { narrow: { servers: ['other'] } } };
    const other = ableServer({});
    const { heddle, server } = await running(config, { other });
    await heddle.servers.connect({ ...PLAIN, roles: ['owner'] }, 'other', signal);
    await heddle.catalog.list({ ...ABLE, profile: 'narrow' }, {});
    await until('the other is asked', () => other.told.length === 2);
    expect(server.told).toEqual([{}]);
  });

  /** A folder whose store remembers the lists of `up` as a client without capabilities saw them. */
  async function rememberedFolder(): Promise<string> {
    const folder = await temporaryFolder();
    const heddle = await opened(folder, { servers: { up: ableServer({ all: '', interrogate: 'elicitation' }) } });
    expect(await namesFor(heddle, PLAIN)).toEqual(['all']);
    await heddle.close();
    return folder;
  }

  verifies('T3', 'is discovered when the store remembers the list of clients without capabilities alone', async () => {
    const folder = await rememberedFolder();
    const server = ableServer({ all: '', interrogate: 'elicitation' });
    const heddle = await opened(folder, { servers: { up: server } });
    expect(await namesFor(heddle, PLAIN)).toEqual(['all']);
    expect(server.told).toEqual([]);
    expect(await namesFor(heddle, ABLE, LONG_MS)).toEqual(['all', 'interrogate']);
    expect(await namesFor(heddle, PLAIN)).toEqual(['all']);
    expect(server.told).toEqual([{}, { elicitation: { form: {} } }]);
    await heddle.close();
    const later = ableServer({ all: '', interrogate: 'elicitation' });
    const again = await opened(folder, { servers: { up: later } });
    expect(await namesFor(again, ABLE)).toEqual(['all', 'interrogate']);
    expect(later.told).toEqual([]);
  });

  verifies('T3', 'is announced when its server connects after the list was answered', async () => {
    const folder = await rememberedFolder();
    const server = ableServer({ all: '', interrogate: 'elicitation' });
    const start = Promise.withResolvers<void>();
    const up: typeof server = { ...server, connect: (line) => start.promise.then(() => server.connect(line)) };
    const heddle = await opened(folder, { servers: { up } });
    const told = toldBy(heddle);
    expect(await namesFor(heddle, ABLE, 1)).toEqual(['all']);
    start.resolve();
    await until('the list is announced', () => told.length > 0);
    expect(told).toEqual([{ kind: 'catalog', subject: 'tools', detail: { capabilities: 1 } }]);
    expect(await namesFor(heddle, ABLE, 0)).toEqual(['all', 'interrogate']);
  });

  verifies('T3', 'is discovered for the only user of a process, too', async () => {
    const folder = await rememberedFolder();
    const server = ableServer({ all: '', interrogate: 'elicitation' });
    const heddle = await opened(folder, { servers: { up: server }, user: { principal: PLAIN.id, capabilities: FORM } });
    expect(await namesFor(heddle, PLAIN, LONG_MS)).toEqual(['all', 'interrogate']);
    expect(server.told).toEqual([{ elicitation: { form: {} } }]);
  });

  verifies('T3', 'starts no server for a list that may not wait', async () => {
    const folder = await rememberedFolder();
    const server = ableServer({ all: '', interrogate: 'elicitation' });
    const heddle = await opened(folder, { servers: { up: server } });
    expect(await namesFor(heddle, ABLE, 0)).toEqual(['all']);
    expect(await heddle.servers.list({ ...PLAIN, roles: ['owner'] })).toContainEqual(
      expect.objectContaining({ name: 'up', state: 'pending' }),
    );
    expect(server.told).toEqual([]);
  });
});
