import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import type { Authenticate } from '../../src/gateway/auth/authenticate.ts';
import { gatewayUnderTest } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { type ClientName, DATED_CLIENTS, type DatedClient, type UserResponses } from '../servers/dated-clients.ts';
import { DATED_SERVERS, type DatedServer } from '../servers/dated-servers.ts';
import { until } from '../until.ts';
import { compatibilityTable, expected, type ServerName, WORKS } from './compatibility.ts';
import { ROOT } from './heddle-command.ts';

const CLIENTS = Object.keys(DATED_CLIENTS) as ClientName[];
const SERVERS = Object.keys(DATED_SERVERS) as ServerName[];

type Known = Readonly<Record<string, unknown>>;

/** A client and a server, connected through the gateway. */
interface Meeting {
  readonly client: DatedClient;
  readonly server: DatedServer;
  /** Returns the public name of an entry of this server. */
  readonly named: (name: string) => string;
}

type Probe = (meeting: Meeting) => Promise<void>;

function textIn({ content, isError }: Known): string {
  const [{ text = '' } = {}] = content as { text?: string }[];
  if (isError) throw new Error(text);
  return text;
}

const elicits =
  (tool: keyof UserResponses, method: string): Probe =>
  async ({ client, named }) => {
    const before = client.inputMethods.length;
    const text = textIn(await client.call(named(tool)));
    expect(JSON.parse(text)).toEqual(client.responses[tool]);
    expect(client.inputMethods.slice(before)).toContain(method);
  };

const PROBES = {
  call: async ({ client, named }: Meeting) => {
    expect(textIn(await client.call(named('echo'), { text: 'hällo ✓' }))).toBe('hällo ✓');
  },
  progress: async ({ client, named }: Meeting) => {
    const received: unknown[] = [];
    const result = await client.call(named('count'), {}, { onprogress: (one) => received.push(one) });
    expect(textIn(result)).toBe('counted');
    expect(received).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3 })));
  },
  cancel: async ({ client, server, named }: Meeting) => {
    const [running, before] = [server.running.length, server.cancelled.length];
    const abort = new AbortController();
    const refused = expect(client.call(named('hang'), {}, { signal: abort.signal })).rejects.toBeDefined();
    await until('the server has the call', () => server.running.length > running);
    abort.abort();
    await refused;
    await until('the call is cancelled at the server', () => server.cancelled.length > before);
  },
  form: elicits('form', 'elicitation/create'),
  url: elicits('url', 'elicitation/create'),
  sampling: elicits('sample', 'sampling/createMessage'),
  subscription: async ({ client, server }: Meeting) => {
    let notifications = 0;
    const stop = await client.subscribe(server.uri, () => notifications++);
    server.notifyUpdated();
    await until('the client has the notification', () => notifications === 1);
    await stop();
  },
  list_changed: async ({ client, server, named }: Meeting) => {
    let notifications = 0;
    await client.onToolsChanged(() => notifications++);
    const name = named(server.addTool());
    await until('the client has the notification', () => notifications > 0);
    expect(await client.list()).toContain(name);
  },
  prompts: async ({ client, named }: Meeting) => {
    const { messages } = await client.get(named('greet'), { who: 'Ann' });
    expect(messages).toMatchObject([{ content: { text: 'Hello, Ann!' } }]);
  },
  completion: async ({ client, named }: Meeting) => {
    const { completion } = await client.complete(named('greet'), 'who', 'An');
    expect(completion).toMatchObject({ values: ['Ann', 'Anton'] });
  },
} satisfies Record<string, Probe>;

async function outcomeOf(probe: Probe, meeting: Meeting): Promise<string> {
  try {
    await probe(meeting);
    return WORKS;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

/** Takes the token as the caller id. */
const byName: Authenticate = ({ headers }) => {
  const id = /^Bearer ([\w-]+)$/.exec(headers.authorization ?? '')?.[1];
  return id === undefined ? undefined : { id, roles: ['user'], via: 'gateway' };
};

const withDash = (name: string) => name.replace(' ', '-');

/** Opens a gateway with a server of every version. */
async function gatewayWithAllVersions() {
  const servers = new Map<ServerName, DatedServer>();
  for (const version of SERVERS) {
    const server = await DATED_SERVERS[version]();
    onTestFinished(() => server.close());
    servers.set(version, server);
  }
  const entries = Object.fromEntries([...servers].map(([version, { entry }]) => [`v${withDash(version)}`, entry]));
  const { port } = await gatewayUnderTest({ servers: entries, authenticate: byName });
  async function meetings(name: ClientName): Promise<ReadonlyMap<ServerName, Meeting>> {
    const client = await DATED_CLIENTS[name]({ port, token: withDash(name) });
    onTestFinished(() => client.close());
    const meet = ([version, server]: [ServerName, DatedServer]) =>
      [version, { client, server, named: (one: string) => `mcp__v${withDash(version)}__${one}` }] as const;
    return new Map([...servers].map(meet));
  }
  return { meetings };
}

async function outcomes(meetings: ReadonlyMap<ServerName, Meeting>): Promise<Record<string, Record<string, string>>> {
  const found: Record<string, Record<string, string>> = {};
  for (const [version, meeting] of meetings) {
    const cell: Record<string, string> = {};
    for (const [feature, probe] of Object.entries(PROBES)) cell[feature] = await outcomeOf(probe, meeting);
    found[version] = cell;
  }
  return found;
}

/** Returns the expected outcomes. */
const expectedBy = (client: ClientName) =>
  Object.fromEntries(
    SERVERS.map((server) => {
      const cell = Object.keys(PROBES).map((feature) => {
        const outcome = expected(feature, client, server);
        return [feature, typeof outcome === 'string' ? outcome : expect.stringMatching(outcome)];
      });
      return [server, Object.fromEntries(cell)];
    }),
  );

describe.each(CLIENTS)('a client of %s', (name) => {
  verifies('P3', 'uses every feature that both versions have, and gets an error for the others', async () => {
    const { meetings } = await gatewayWithAllVersions();
    const met = await meetings(name);
    for (const { client } of met.values()) expect(client.version).toBe(name.slice(0, 10));
    expect(await outcomes(met)).toEqual(expectedBy(name));
  });
});

verifies('P3', 'concurrent clients and servers of all versions get their own results', async () => {
  const { meetings } = await gatewayWithAllVersions();
  const features = ['call', 'form', 'url', 'sampling', 'prompts'] as const;
  const met = await Promise.all(CLIENTS.map(async (name) => [name, await meetings(name)] as const));
  const one = async (name: ClientName, [server, meeting]: [ServerName, Meeting]) => {
    for (const feature of features) {
      if (expected(feature, name, server) === WORKS) await PROBES[feature](meeting);
    }
  };
  await Promise.all(met.flatMap(([name, all]) => [...all].map((meeting) => one(name, meeting))));
});

verifies('P3', 'docs/compatibility.md has the same table', async () => {
  const page = await readFile(join(ROOT, 'docs', 'compatibility.md'), 'utf8');
  expect(page).toContain(compatibilityTable(CLIENTS, SERVERS));
});
