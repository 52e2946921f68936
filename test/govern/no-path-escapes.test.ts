import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import type { CallKind, JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest } from '../../src/gateway/fixtures.ts';
import type { HeddleClient } from '../../src/index.ts';
import type { AuditRecord } from '../../src/store/audit-log.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Era } from '../../src/wire/mcp.ts';
import { project, ROOT, SERVERS } from '../e2e/heddle-command.ts';
import { countsIn, openedIn, tally } from '../path-counts.ts';
import {
  CASES,
  type Case,
  CLIENTS,
  type ClientTransportName,
  FRONT_ENDS,
  KINDS,
  serverPaths,
  uriOf,
} from '../paths.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder, temporaryHeddleClient } from '../temporary-heddle.ts';

/** Rules that allow, deny and ask by name, and deny by arguments. A call that needs an approval is not held open. */
const RULES: JsonObject = {
  mode: 'open',
  permissions: {
    allow: ['mcp__counter__allowed', 'mcp__counter__failing'],
    ask: ['mcp__counter__asked', 'count://asked/*', 'mcp__method-asked__any'],
    deny: ['mcp__counter__denied', 'count://denied/*', 'mcp__method-denied__any'],
  },
  policies: [
    {
      name: 'unreviewed',
      effect: 'deny',
      tools: ['mcp__counter__barred', 'count://barred/*', 'mcp__method-barred__any'],
      when: '!has(args.reviewed)',
      reason: 'Calls need a review.',
    },
  ],
  approvals: { keepOpenMs: 0 },
};

const configOf = (counts: string): JsonObject => {
  const counter = { command: process.execPath, args: [join(SERVERS, 'counting-server.mjs')], env: { COUNTS: counts } };
  return { mcpServers: { counter, ...methodServers(counter) }, ...RULES };
};

/** A server for each case of an extension method: a rule about one tool holds for all methods of its server. */
const methodServers = (server: JsonObject & { readonly env: JsonObject }): Readonly<Record<string, JsonObject>> =>
  Object.fromEntries(
    CASES.map((one) => [
      `method-${one}`,
      {
        ...server,
        env: { ...server.env, ONLY_TOOLS: '1' },
        extensions: { 'com.example/count': { methods: [`count/${one}`] } },
      },
    ]),
  );

const kinds = Object.keys(KINDS) as CallKind[];
/** The kinds of call that the library makes. It has no function for methods of extensions. */
const libraryKinds = kinds.filter((kind) => kind !== 'extension');

async function recordsIn(home: string): Promise<readonly AuditRecord[]> {
  const store = await openStore({ location: join(home, 'heddle.sqlite') });
  const records = await store.audit.search({ limit: 10_000 });
  await store.close();
  return records;
}

interface Ran {
  readonly counts: string;
  readonly records: readonly AuditRecord[];
  /** The number of times that each kind was tried in each case. */
  readonly tries: Readonly<Partial<Record<CallKind, number>>>;
}

/** Expects that the server got exactly the calls that the records say, and no denied or unapproved one. */
async function expectNoEscape({ counts, records, tries }: Ran): Promise<void> {
  const counted = await countsIn(counts);
  expect(openedIn(records, 'allow')).toEqual(counted);
  const held = Object.entries(tries).map(([kind, count]) => [`${kind} asked`, count]);
  expect(openedIn(records, 'ask')).toEqual(Object.fromEntries(held));
  const barred = Object.entries(tries).map(([kind, count]) => [`${kind} barred`, count]);
  expect(openedIn(records, 'deny')).toEqual(Object.fromEntries(barred));
  const expected = Object.entries(tries).flatMap(([kind, count]) => [
    [`${kind} allowed`, count],
    [`${kind} failing`, count],
  ]);
  expect(counted).toEqual(Object.fromEntries(expected));
  const ended = records
    .filter(({ phase }) => phase === 'outcome')
    .map(({ name, detail }) => `${detail.kind ?? 'tool'} ${name}`);
  for (const [kind, count] of Object.entries(tries)) {
    for (const one of CASES) expect(tally(ended)[`${kind} ${one}`], `${kind} ${one} has its end recorded`).toBe(count);
  }
}

const isRefused = ({ error, result }: JsonObject): boolean =>
  error !== undefined || (result as JsonObject | undefined)?.isError === true;

describe('no path escapes', () => {
  const remote = (['http', 'sse', 'ws'] as const).flatMap((transport) => clientsOf(transport));
  verifies('G1', `the gateway sends only allowed calls: ${remote.map(({ path }) => path).join(', ')}`, async () => {
    const counts = join(await temporaryFolder(), 'counts');
    const gateway = await gatewayUnderTest({ config: configOf(counts), env: { PATH: process.env.PATH ?? '' } });
    for (const { path, era, open } of remote) {
      const client = await open({ port: gateway.port, folder: '', env: {} });
      await callAll(path, era, client);
      await client.close();
    }
    const tries = Object.fromEntries(kinds.map((kind) => [kind, remote.length]));
    await expectNoEscape({ counts, records: await gateway.audit(), tries });
  });

  verifies('G1', '`serve --stdio` sends only allowed calls, in both eras', async () => {
    const counts = join(await temporaryFolder(), 'counts');
    const { folder, home, env, heddle } = project({ 'heddle.json': configOf(counts) });
    await heddle(['list', 'tools']);
    const clients = clientsOf('stdio');
    for (const { path, era, open } of clients) {
      const client = await open({ port: 0, folder, env });
      await callAll(path, era, client);
      await client.close();
    }
    const tries = Object.fromEntries(kinds.map((kind) => [kind, clients.length]));
    await expectNoEscape({ counts, records: await recordsIn(home), tries });
  });

  verifies('G1', 'the library sends only allowed calls', async () => {
    const folder = await temporaryFolder();
    const counts = join(folder, 'counts');
    const heddle = await temporaryHeddleClient({ folder, config: configOf(counts) });
    await callFromLibrary(heddle);
    const tries = Object.fromEntries(libraryKinds.map((kind) => [kind, 1]));
    await expectNoEscape({ counts, records: await recordsIn(join(folder, 'home')), tries });
  });

  const servers = serverPaths();
  verifies('G1', `only allowed calls reach a server by ${servers.map(({ path }) => path).join(', ')}`, async () => {
    for (const { path, era, open } of servers) {
      const folder = await temporaryFolder();
      const counts = join(folder, 'counts');
      const { entry, inProcess, settings, close } = await open({ era, folder, counts });
      if (close) onTestFinished(close);
      const config = { ...RULES, ...settings, mcpServers: entry ? { counter: entry } : {} };
      const given = inProcess ? { servers: { counter: inProcess } } : {};
      const heddle = await temporaryHeddleClient({ folder, config, ...given });
      await callFromLibrary(heddle, path);
      const tries = Object.fromEntries(libraryKinds.map((kind) => [kind, 1]));
      await expectNoEscape({ counts, records: await recordsIn(join(folder, 'home')), tries });
    }
  });

  const commands = kinds.filter((kind) => KINDS[kind].command);
  verifies('G1', 'commands send only allowed calls', () => commandsSendOnlyAllowed(false));
  verifies('G1', 'commands through a running gateway send only allowed calls', () => commandsSendOnlyAllowed(true));

  async function commandsSendOnlyAllowed(isForwarded: boolean): Promise<void> {
    const counts = join(await temporaryFolder(), 'counts');
    const { home, heddle, up } = project({ 'heddle.json': configOf(counts) });
    const gateway = isForwarded ? await up() : undefined;
    for (const kind of commands) {
      for (const one of CASES) {
        const { code } = await heddle([...(KINDS[kind].command?.(one, 'command') ?? [])]);
        expect(code === 0, `${kind} ${one}`).toBe(one === 'allowed');
      }
    }
    await gateway?.stop();
    const tries = Object.fromEntries(commands.map((kind) => [kind, 1]));
    await expectNoEscape({ counts, records: await recordsIn(home), tries });
  }

  verifies('G1', 'lists every transport of clients, and every caller that a source makes', () => {
    const files = readdirSync(join(ROOT, 'src/gateway/transports'));
    const transports = files.flatMap((file) => /^serve-(\w+)\.ts$/.exec(file)?.[1] ?? []);
    const known = Object.keys(CLIENTS);
    expect(transports.filter((name) => name !== 'client' && !known.includes(name))).toEqual([]);
    const unused = Object.entries(FRONT_ENDS).filter(([, frontEnd]) => frontEnd === 'none yet');
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/(\.test|fixtures)\.ts$/.test(file))
      .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8'));
    for (const [via] of unused) {
      expect(
        sources.some((text) => text.includes(`via: '${via}'`)),
        `no front end makes callers via ${via}`,
      ).toBe(false);
    }
  });
});

/** Makes every kind of call in every case, and closes the client. */
async function callFromLibrary(heddle: HeddleClient, path = 'library'): Promise<void> {
  const calls: Readonly<Record<Exclude<CallKind, 'extension'>, (one: Case) => Promise<unknown>>> = {
    tool: (one) => heddle.call(`counter.${one}`),
    resource: (one) => heddle.readResource(uriOf(one, path)),
    prompt: (one) => heddle.getPrompt(`counter.${one}`),
    completion: (one) => heddle.complete({ prompt: `counter.${one}` }, { name: 'word', value: '' }),
    subscription: (one) => heddle.subscribe(uriOf(one, path), () => {}),
  };
  for (const kind of libraryKinds) {
    for (const one of CASES) {
      const call = calls[kind](one).then(
        () => 'allowed',
        () => 'refused',
      );
      expect(await call, `${path}: ${kind} ${one}`).toBe(one === 'allowed' ? 'allowed' : 'refused');
    }
  }
  await heddle.close();
}

interface ListedClient {
  readonly path: string;
  readonly era: Era;
  readonly open: Exclude<(typeof CLIENTS)[ClientTransportName][Era], string>;
}

function clientsOf(transport: ClientTransportName): readonly ListedClient[] {
  return (['legacy', 'modern'] as const).flatMap((era) => {
    const open = CLIENTS[transport][era];
    return typeof open === 'string' ? [] : [{ path: `${transport} ${era}`, era, open }];
  });
}

/** Makes every kind of call in every case. */
async function callAll(
  path: string,
  era: Era,
  client: { request: (method: string, params: JsonObject) => Promise<JsonObject> },
) {
  for (const kind of kinds) {
    for (const one of CASES) {
      const response = await client.request(...KINDS[kind].request(one, path, era));
      // A modern subscription is acknowledged without the URIs that were refused.
      if (kind === 'subscription' && era === 'modern') continue;
      expect(isRefused(response), `${path}: ${kind} ${one} ${JSON.stringify(response)}`).toBe(one !== 'allowed');
    }
  }
}
