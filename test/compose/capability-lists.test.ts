import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Call, Caller, ClientCapabilities, JsonObject } from '../../src/core/call.ts';
import type { Change } from '../../src/core/records/server-status.ts';
import type { Heddle } from '../../src/heddle.ts';
import type { HeddleOptions } from '../../src/open-heddle.ts';
import { verifies } from '../requirements.ts';
import { capabilityServer } from '../servers/capability-server.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const FORM: ClientCapabilities = { form: true, url: false, sampling: false, samplingTools: false, roots: false };
const PLAIN: Caller = { id: 'ann', roles: ['user'], via: 'gateway' };
const CAPABLE: Caller = { ...PLAIN, capabilities: FORM };
// Long enough for an in-process server on a busy machine.
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
function catalogChanges(heddle: Heddle): readonly Change[] {
  const changes: Change[] = [];
  void (async () => {
    for await (const change of heddle.changes(PLAIN, signal)) if (change.kind === 'catalog') changes.push(change);
  })();
  return changes;
}

/** Opens Heddle with one connected server, and collects the changes of its catalog. */
async function running(config: JsonObject = {}, others: NonNullable<HeddleOptions['servers']> = {}) {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'heddle.json'), JSON.stringify(config));
  const server = capabilityServer({ all: '', interrogate: 'elicitation' });
  const heddle = await opened(folder, { servers: { up: server, ...others } });
  await namesFor(heddle, PLAIN);
  return { heddle, server, changes: catalogChanges(heddle), folder };
}

describe('a tool that a server lists only to clients with a capability', () => {
  verifies('T3', 'is cached in addition to the list for all clients, in any order of connections', async () => {
    const folder = await temporaryFolder();
    const servers = { up: capabilityServer({ all: '', interrogate: 'elicitation' }) };
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

  verifies('T3', 'is discovered in the background, and announced to the clients that see it', async () => {
    const { heddle, server, changes } = await running();
    expect(await namesFor(heddle, CAPABLE)).toEqual(['all']);
    await until('the tool is discovered', () => changes.length > 0);
    expect(changes).toEqual([{ kind: 'catalog', subject: 'tools', detail: { capabilities: 1 } }]);
    expect([await namesFor(heddle, CAPABLE), await namesFor(heddle, PLAIN)]).toEqual([['all', 'interrogate'], ['all']]);
    expect(await namesFor(heddle, { ...CAPABLE, id: 'bob' })).toEqual(['all', 'interrogate']);
    expect(server.declared).toEqual([{}, { elicitation: { form: {} } }]);
  });

  verifies('T3', 'does not exist for clients without the capability', async () => {
    const { heddle } = await running();
    await heddle.dispatch(callOf('mcp__up__interrogate', CAPABLE));
    const unknown = { code: 'NAME_UNKNOWN', fix: expect.not.stringContaining('interrogate') };
    const other = { ...PLAIN, capabilities: { ...FORM, form: false, roots: true } };
    for (const by of [PLAIN, other]) {
      await expect(heddle.dispatch(callOf('mcp__up__interrogate', by))).rejects.toMatchObject(unknown);
      await expect(heddle.dispatch(callOf('mcp__up__interrogat', by))).rejects.toMatchObject(unknown);
      await expect(heddle.catalog.describe(by, 'up.interrogate', signal)).rejects.toMatchObject(unknown);
      expect(await heddle.catalog.search(by, { text: 'interrogate' })).toEqual([]);
    }
    await expect(heddle.dispatch(callOf('mcp__up__interrogat', CAPABLE))).rejects.toMatchObject({
      fix: 'Did you mean mcp__up__interrogate?',
    });
    expect((await heddle.catalog.search(CAPABLE, { text: 'interrogate' })).map(({ target }) => target.name)).toEqual([
      'interrogate',
    ]);
  });

  verifies('T3', 'can be called before it was listed', async () => {
    const { heddle } = await running();
    expect(await heddle.dispatch(callOf('mcp__up__interrogate', CAPABLE))).toMatchObject({
      value: { content: [{ text: 'interrogate for elicitation' }] },
    });
  });

  verifies('T3', 'is governed like any tool', async () => {
    const { heddle } = await running({ permissions: { deny: ['mcp__up__interrogate'] } });
    await expect(heddle.dispatch(callOf('mcp__up__interrogate', CAPABLE))).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
    });
    expect(await namesFor(heddle, CAPABLE)).toEqual(['all']);
  });

  const MORE = { all: '', interrogate: 'elicitation', tell: 'elicitation' };
  const neverUp = { up: { connect: () => new Promise<void>(() => {}) } };

  verifies(
    'T3',
    'is updated when it changes before any call, and known after a restart without a request',
    async () => {
      const { heddle, server, changes, folder } = await running();
      await namesFor(heddle, CAPABLE);
      await until('the tool is discovered', () => changes.length > 0);
      server.change(MORE);
      await until('the change is published', async () =>
        (await namesFor(heddle, { ...CAPABLE, id: 'bob' })).includes('tell'),
      );
      expect(await namesFor(heddle, CAPABLE)).toEqual(['all', 'interrogate', 'tell']);
      expect(await namesFor(heddle, PLAIN)).toEqual(['all']);
      await heddle.close();
      const again = await opened(folder, { servers: neverUp });
      expect(await namesFor(again, CAPABLE, 0)).toEqual(['all', 'interrogate', 'tell']);
      expect(await namesFor(again, PLAIN, 0)).toEqual(['all']);
    },
  );

  verifies(
    'T3',
    'is visible to its user only when it changes after a call, until a new connection lists it',
    async () => {
      const { heddle, server, changes, folder } = await running();
      await heddle.dispatch(callOf('mcp__up__interrogate', CAPABLE));
      server.change(MORE);
      await until('the change is published', () => changes.length > 1);
      expect(await namesFor(heddle, CAPABLE)).toEqual(['all', 'interrogate', 'tell']);
      await heddle.close();
      const again = await opened(folder, { servers: neverUp });
      expect(await namesFor(again, CAPABLE, 0)).toEqual(['all', 'interrogate']);
      await again.close();

      const third = await opened(folder, { servers: { up: server } });
      await third.dispatch(callOf('mcp__up__interrogate', CAPABLE));
      const bob = { ...CAPABLE, id: 'bob' };
      await until('bob sees the change', async () => (await namesFor(third, bob)).includes('tell'));
    },
  );

  verifies('R7', 'publishes a change for one principal to no other reader', async () => {
    const { heddle, server, changes } = await running();
    const others: Change[] = [];
    void (async () => {
      for await (const change of heddle.changes({ ...PLAIN, id: 'bob', roles: ['operator'] }, signal))
        others.push(change);
    })();
    await heddle.dispatch(callOf('mcp__up__interrogate', CAPABLE));
    server.change(MORE);
    await until('ann gets the change', () =>
      changes.some((change) => change.kind === 'catalog' && change.detail.user !== undefined),
    );
    server.change({ all: '', more: '' });
    await until('bob gets the change of the shared tools', () => others.some(hasToolList));
    expect(JSON.stringify(others)).not.toContain('ann');
  });

  verifies('P2', 'takes no bare name from a tool that all callers of the profile see', async () => {
    const config = { profiles: { bare: { naming: 'bare' } }, builtins: { filesystem: { enabled: false } } };
    const { heddle } = await running(config, { other: capabilityServer({ interrogate: '' }) });
    await heddle.dispatch(callOf('mcp__up__interrogate', CAPABLE));
    const seen = async (by: Caller) =>
      (await heddle.catalog.list({ ...by, profile: 'bare' }, {})).items.map(({ publicName }) => publicName);
    expect(await seen(CAPABLE)).toEqual(['mcp__other__interrogate', 'all', 'mcp__up__interrogate']);
    expect(await seen(PLAIN)).toEqual(['interrogate', 'all']);
  });

  verifies('T3', 'is not requested from a server that the caller may not see', async () => {
    const config = { profiles: { narrow: { servers: ['other'] } } };
    const other = capabilityServer({});
    const { heddle, server } = await running(config, { other });
    await heddle.servers.connect({ ...PLAIN, roles: ['owner'] }, 'other', signal);
    await heddle.catalog.list({ ...CAPABLE, profile: 'narrow' }, {});
    await until('the other server is connected', () => other.declared.length === 2);
    expect(server.declared).toEqual([{}]);
  });

  /** A folder whose store remembers the lists of `up` as a client without capabilities saw them. */
  async function rememberedFolder(): Promise<string> {
    const folder = await temporaryFolder();
    const heddle = await opened(folder, { servers: { up: capabilityServer({ all: '', interrogate: 'elicitation' }) } });
    expect(await namesFor(heddle, PLAIN)).toEqual(['all']);
    await heddle.close();
    return folder;
  }

  verifies('T3', 'is discovered when the store has only the list for clients without capabilities', async () => {
    const folder = await rememberedFolder();
    const server = capabilityServer({ all: '', interrogate: 'elicitation' });
    const heddle = await opened(folder, { servers: { up: server } });
    expect(await namesFor(heddle, PLAIN)).toEqual(['all']);
    expect(server.declared).toEqual([]);
    expect(await namesFor(heddle, CAPABLE, LONG_MS)).toEqual(['all', 'interrogate']);
    expect(await namesFor(heddle, PLAIN)).toEqual(['all']);
    expect(server.declared).toEqual([{}, { elicitation: { form: {} } }]);
    await heddle.close();
    const later = capabilityServer({ all: '', interrogate: 'elicitation' });
    const again = await opened(folder, { servers: { up: later } });
    expect(await namesFor(again, CAPABLE)).toEqual(['all', 'interrogate']);
    expect(later.declared).toEqual([]);
  });

  verifies('T3', 'is announced when its server connects after the list was answered', async () => {
    const folder = await rememberedFolder();
    const server = capabilityServer({ all: '', interrogate: 'elicitation' });
    const start = Promise.withResolvers<void>();
    const up: typeof server = {
      ...server,
      connect: (transport) => start.promise.then(() => server.connect(transport)),
    };
    const heddle = await opened(folder, { servers: { up } });
    const changes = catalogChanges(heddle);
    expect(await namesFor(heddle, CAPABLE, 1)).toEqual(['all']);
    start.resolve();
    await until('the list is announced', () => changes.length > 0);
    expect(changes).toEqual([{ kind: 'catalog', subject: 'tools', detail: { capabilities: 1 } }]);
    expect(await namesFor(heddle, CAPABLE, 0)).toEqual(['all', 'interrogate']);
  });

  verifies('T3', 'is discovered for the only user of a process, too', async () => {
    const folder = await rememberedFolder();
    const server = capabilityServer({ all: '', interrogate: 'elicitation' });
    const heddle = await opened(folder, { servers: { up: server }, user: { principal: PLAIN.id, capabilities: FORM } });
    expect(await namesFor(heddle, PLAIN, LONG_MS)).toEqual(['all', 'interrogate']);
    expect(server.declared).toEqual([{ elicitation: { form: {} } }]);
  });

  verifies('T3', 'starts no server for a list that may not wait', async () => {
    const folder = await rememberedFolder();
    const server = capabilityServer({ all: '', interrogate: 'elicitation' });
    const heddle = await opened(folder, { servers: { up: server } });
    expect(await namesFor(heddle, CAPABLE, 0)).toEqual(['all']);
    expect(await heddle.servers.list({ ...PLAIN, roles: ['owner'] })).toContainEqual(
      expect.objectContaining({ name: 'up', state: 'pending' }),
    );
    expect(server.declared).toEqual([]);
  });
});
