import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { resourceServer } from '../../test/servers/resource-server.ts';
import type { Caller, Target } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import { ada, grace } from '../core/fixtures.ts';
import { anEntry, openWorld, tool, type World } from './fixtures.ts';

const has = (...tools: string[]) => recordingServer(Object.fromEntries(tools.map((name) => [name, () => text(name)])));
const { signal } = new AbortController();
const ask = async (world: World, name: string, caller: Caller = ada) => {
  const { publicName } = await world.resolve({ kind: 'tool', name, caller, signal });
  return publicName;
};
const failure = (world: World, name: string, caller: Caller = ada): Promise<HeddleError> =>
  ask(world, name, caller).then(
    () => Promise.reject(new Error(`${name} was found`)),
    (thrown: unknown) => HeddleError.from(thrown),
  );
const inBytes = ({ code, message, fix, details }: HeddleError) => JSON.stringify({ code, message, fix, details });
const unreachable = async () => {
  throw new UpstreamError('UPSTREAM_UNREACHABLE', 'It is not there.', { delivered: 'no' });
};

verifies('R2', 'finds a tool by public name, by server.tool, and by a unique bare name', async () => {
  const world = await openWorld({ a: has('echo', 'get__it'), b: has('other') });
  for (const name of ['mcp__a__echo', 'a.echo', 'echo']) expect(await ask(world, name, grace)).toBe('mcp__a__echo');
  expect(await ask(world, 'mcp__a__get__it')).toBe('mcp__a__get__it');
});

verifies('R2', 'an ambiguous bare name gives the candidates, and each of them resolves', async () => {
  const world = await openWorld({ a: has('echo'), b: has('echo'), c: has('other') });
  const error = await failure(world, 'echo', grace);
  expect(error).toMatchObject({ code: 'NAME_AMBIGUOUS', details: { candidates: ['a.echo', 'b.echo'] } });
  expect(error.message).toContain('a.echo, b.echo');
  for (const name of ['a.echo', 'b.echo']) expect(await ask(world, name, grace)).toMatch(/__echo$/);
});

verifies('R2', 'a bare name of several servers means the one with the highest priority', async () => {
  const servers = { a: has('echo'), b: has('echo'), c: has('echo') };
  const entries = { a: anEntry(), b: anEntry({ priority: 2 }), c: anEntry({ priority: 1 }) };
  const world = await openWorld(servers, { entries });
  expect(await ask(world, 'echo', grace)).toBe('mcp__b__echo');
  expect(await ask(world, 'a.echo', grace)).toBe('mcp__a__echo');
});

verifies('R2', 'a bare name stays ambiguous if two servers share the highest priority', async () => {
  const high = anEntry({ priority: 1 });
  const servers = { a: has('echo'), b: has('echo'), c: has('echo') };
  const world = await openWorld(servers, { entries: { a: high, b: high, c: anEntry() } });
  const { code, details } = await failure(world, 'echo', grace);
  expect({ code, details }).toEqual({
    code: 'NAME_AMBIGUOUS',
    details: { candidates: ['a.echo', 'b.echo', 'c.echo'] },
  });
});

verifies('R2', 'the priority of a hidden tool does not count', async () => {
  const entries = { a: anEntry({ priority: 3 }), b: anEntry({ priority: 2 }), c: anEntry() };
  const servers = { a: has('echo'), b: has('echo'), c: has('echo') };
  const world = await openWorld(servers, { entries, hides: ({ servers: [server] }) => server === 'a' });
  expect(await ask(world, 'echo', grace)).toBe('mcp__b__echo');
});

verifies('R2', 'preferredServer decides what a bare name means, before the priority', async () => {
  const entries = { a: anEntry({ pool: 'p' }), b: anEntry({ pool: 'p', priority: 1 }) };
  const world = await openWorld({ a: has('echo'), b: has('echo') }, { entries });
  const meant = async (preferredServer: string) => {
    const options = { preferredServer };
    return (await world.resolve({ kind: 'tool', name: 'echo', caller: grace, signal, options })).publicName;
  };
  expect(await meant('a')).toBe('mcp__a__echo');
  await expect(meant('elsewhere')).rejects.toMatchObject({ code: 'NAME_AMBIGUOUS' });
});

verifies('R2', 'a bare name stays ambiguous if a pool has it: its servers have different priorities', async () => {
  const at = (priority: number) => anEntry({ pool: 'p', priority });
  const entries = { a: at(5), b: at(4), c: anEntry() };
  const servers = { a: has('echo'), b: has('echo'), c: has('echo') };
  const candidates = async (hides: (target: Target) => boolean) =>
    (await failure(await openWorld(servers, { entries, hides }), 'echo', grace)).details;
  expect(await candidates(() => false)).toEqual({ candidates: ['a.echo', 'b.echo', 'c.echo', 'p.echo'] });
  const ofMember = ({ publicName }: Target) => /^mcp__[ab]__/.test(publicName);
  expect(await candidates(ofMember)).toEqual({ candidates: ['c.echo', 'p.echo'] });
});

verifies('R2', 'a bare prompt name means that of the server with the highest priority', async () => {
  const entries = { a: anEntry(), b: anEntry({ priority: 1 }) };
  const world = await openWorld({ a: reading([], ['hello']), b: reading([], ['hello']) }, { entries });
  const found = await world.resolve({ kind: 'prompt', name: 'hello', caller: grace, signal });
  expect(found.publicName).toBe('mcp__b__hello');
});

verifies('R2', 'gives the candidates of a pool and of a renamed tool as names that resolve', async () => {
  const entry = anEntry({ pool: 'p', tools: { echo: { rename: 'say' } } });
  const world = await openWorld({ a: has('echo'), b: has('echo') }, { entries: { a: entry, b: entry } });
  const { details } = await failure(world, 'say', grace);
  expect(details).toEqual({ candidates: ['a.say', 'b.say', 'p.say'] });
  const found = await Promise.all((details.candidates as string[]).map((name) => ask(world, name, grace)));
  expect(found).toEqual(['mcp__a__say', 'mcp__b__say', 'mcp__p__say']);
});

verifies('R2', 'hidden tools do not make a bare name ambiguous', async () => {
  const world = await openWorld({ a: has('echo'), b: has('echo') }, { hides: ({ servers }) => servers[0] === 'b' });
  expect(await ask(world, 'echo', grace)).toBe('mcp__a__echo');
});

verifies('G2', 'unknown and hidden names give exactly the same error', async () => {
  const hiding = await openWorld({ a: has('echo', 'secret') }, { hides: ({ name }) => name === 'secret' });
  const without = await openWorld({ a: has('echo') });
  for (const name of ['mcp__a__secret', 'a.secret', 'secret']) {
    for (const caller of [ada, grace]) {
      const [hidden, absent] = [await failure(hiding, name, caller), await failure(without, name, caller)];
      expect(hidden.code).toBe('NAME_UNKNOWN');
      expect(inBytes(hidden)).toBe(inBytes(absent));
    }
    expect(hiding.started).toEqual(without.started);
  }
});

verifies('G2', 'a denied server is not started and looks unknown', async () => {
  const hiding = await openWorld({ a: has('echo') }, { hides: () => true, hidesServer: () => true });
  const without = await openWorld({});
  expect(inBytes(await failure(hiding, 'mcp__a__echo'))).toBe(inBytes(await failure(without, 'mcp__a__echo')));
  expect(hiding.started).toEqual([]);
});

verifies('R2', 'suggests the closest name for a misspelled one', async () => {
  const world = await openWorld({ a: has('create_issue') });
  expect((await failure(world, 'a.create_isue')).fix).toBe('Did you mean a.create_issue?');
});

verifies('T3', 'resolving a name starts only its server, once', async () => {
  const world = await openWorld({ a: has('echo'), b: has('other'), c: has('third') });
  await Promise.all([ask(world, 'mcp__b__other'), ask(world, 'b.other')]);
  await ask(world, 'mcp__b__other');
  expect(world.started).toEqual(['b']);
});

verifies('T3', 'a cached tool starts its server and no other', async () => {
  const remembered = ['a', 'b'].map((server) => ({ server, tools: [tool(`of_${server}`)] }));
  const world = await openWorld({ a: has('of_a'), b: has('of_b') }, { remembered });
  expect(await ask(world, 'of_b')).toBe('mcp__b__of_b');
  expect(world.started).toEqual(['b']);
});

verifies('T3', 'a cached tool that its server no longer lists is unknown', async () => {
  const world = await openWorld({ a: has('new') }, { remembered: [{ server: 'a', tools: [tool('old')] }] });
  expect(await failure(world, 'mcp__a__old')).toMatchObject({ code: 'NAME_UNKNOWN' });
  expect(world.started).toEqual(['a']);
});

verifies('T3', 'throws the error of a server that could not be started', async () => {
  const remembered = [{ server: 'a', tools: [tool('echo')] }];
  for (const options of [{}, { remembered }]) {
    const world = await openWorld({ a: unreachable }, options);
    expect(await failure(world, 'mcp__a__echo')).toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  }
});

verifies('R3', 'a pool resolves while one of its servers is connected', async () => {
  const entry = anEntry({ pool: 'p' });
  const remembered = ['a', 'b'].map((server) => ({ server, tools: [tool('echo')] }));
  const options = { entries: { a: entry, b: entry }, remembered };
  expect(await ask(await openWorld({ a: unreachable, b: has('echo') }, options), 'mcp__p__echo')).toBe('mcp__p__echo');
});

verifies('R2', 'starts the server with the longest matching name', async () => {
  const world = await openWorld({ a: has('b__c'), a__b: has('d') });
  expect(await ask(world, 'mcp__a__b__d')).toBe('mcp__a__b__d');
  expect(world.started).toEqual(['a__b']);
});

verifies('R2', 'an unknown name of a client starts nothing; a bare name of a user starts all servers', async () => {
  const world = await openWorld({ a: has('echo'), b: has('other') });
  expect(await failure(world, 'echo')).toMatchObject({ code: 'NAME_UNKNOWN' });
  expect(world.started).toEqual([]);
  expect(await ask(world, 'echo', grace)).toBe('mcp__a__echo');
  expect([...world.started].sort()).toEqual(['a', 'b']);
});

verifies('T6', 'an abort during the start of a server ends the wait, and the start goes on', async () => {
  const silent = { connect: async () => {} };
  const world = await openWorld({ silent });
  const abort = new AbortController();
  const asked = world.resolve({ kind: 'tool', name: 'mcp__silent__x', caller: ada, signal: abort.signal });
  abort.abort();
  await expect(asked).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(world.servers.status()[0]).toMatchObject({ state: 'pending', attempt: [1, 1] });
});

const reading = (uris: readonly string[], prompts: readonly string[] = []) =>
  resourceServer({ resources: uris.map((uri) => ({ uri, name: uri })), prompts: prompts.map((name) => ({ name })) });

verifies('R6', 'an unknown URI starts the servers that were never seen', async () => {
  const world = await openWorld({ a: reading(['u:1']), b: reading(['u:2']) });
  const found = await world.resolve({ kind: 'resource', name: 'u:2', caller: ada, signal });
  expect(found).toMatchObject({ kind: 'resource', servers: ['b'] });
  await expect(world.resolve({ kind: 'subscription', name: 'u:3', caller: ada, signal })).rejects.toMatchObject({
    code: 'NAME_UNKNOWN',
    details: { uri: 'u:3' },
  });
  expect([...world.started].sort()).toEqual(['a', 'b']);
});

verifies('R6', 'a URI that names its server starts that server only', async () => {
  const world = await openWorld({ a: reading(['u:1']), b: reading(['u:1']) });
  const found = await world.resolve({ kind: 'resource', name: 'heddle://b/u:1', caller: ada, signal });
  expect(found).toMatchObject({ servers: ['b'], name: 'u:1' });
  expect(world.started).toEqual(['b']);
});

verifies('R6', 'a URI is not ambiguous if the caller sees it at one server only', async () => {
  const world = await openWorld(
    { a: reading(['u:1']), b: reading(['u:1']) },
    { hides: ({ servers }) => servers[0] === 'a' },
  );
  const ask = () => world.resolve({ kind: 'resource', name: 'u:1', caller: ada, signal });
  expect(await ask()).toMatchObject({ publicName: 'heddle://b/u:1', servers: ['b'] });
  const other = { kind: 'resource', name: 'heddle://a/u:1', caller: ada, signal } as const;
  await expect(world.resolve(other)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
});

verifies('R6', 'a tool and a prompt may have the same name', async () => {
  const world = await openWorld({ a: reading([], ['x']), b: has('x') });
  const prompt = await world.resolve({ kind: 'prompt', name: 'mcp__a__x', caller: ada, signal });
  expect(prompt).toMatchObject({ kind: 'prompt', publicName: 'mcp__a__x' });
  expect(await world.resolve({ kind: 'tool', name: 'x', caller: grace, signal })).toMatchObject({ kind: 'tool' });
  await expect(world.resolve({ kind: 'tool', name: 'mcp__a__x', caller: ada, signal })).rejects.toMatchObject({
    code: 'NAME_UNKNOWN',
  });
});

verifies('R1', 'an invalid resource does not resolve', async () => {
  const uri = `u:${'x'.repeat(9000)}`;
  const world = await openWorld({ a: reading([uri, 'u:1']) });
  await world.resolve({ kind: 'resource', name: 'u:1', caller: ada, signal });
  await expect(world.resolve({ kind: 'resource', name: uri, caller: ada, signal })).rejects.toMatchObject({
    code: 'NAME_UNKNOWN',
  });
});
