import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import type { Authenticate } from '../../src/gateway/auth/authenticate.ts';
import { gatewayUnderTest } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { type Answers, type ClientName, DATED_CLIENTS, type DatedClient } from '../servers/dated-clients.ts';
import { DATED_SERVERS, type DatedServer } from '../servers/dated-servers.ts';
import { until } from '../until.ts';
import { compatibilityTable, expected, type ServerName, WORKS } from './compatibility.ts';
import { ROOT } from './heddle-command.ts';

const CLIENTS = Object.keys(DATED_CLIENTS) as ClientName[];
const SERVERS = Object.keys(DATED_SERVERS) as ServerName[];

type Known = Readonly<Record<string, unknown>>;

/** One client and one server, met through the gateway. */
interface Meeting {
  readonly client: DatedClient;
  readonly server: DatedServer;
  /** What the gateway calls something of this server. */
  readonly named: (name: string) => string;
}

type Probe = (meeting: Meeting) => Promise<void>;

function textIn({ content, isError }: Known): string {
  const [{ text = '' } = {}] = content as { text?: string }[];
  if (isError) throw new Error(text);
  return text;
}

const asks =
  (tool: keyof Answers, method: string): Probe =>
  async ({ client, named }) => {
    const before = client.asked.length;
    const said = textIn(await client.call(named(tool)));
    expect(JSON.parse(said)).toEqual(client.answers[tool]);
    expect(client.asked.slice(before)).toContain(method);
  };

const PROBES = {
  call: async ({ client, named }: Meeting) => {
    expect(textIn(await client.call(named('echo'), { text: 'hällo ✓' }))).toBe('hällo ✓');
  },
  progress: async ({ client, named }: Meeting) => {
    const heard: unknown[] = [];
    const result = await client.call(named('count'), {}, { onprogress: (one) => heard.push(one) });
    expect(textIn(result)).toBe('counted');
    expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3 })));
  },
  cancel: async ({ client, server, named }: Meeting) => {
    const [running, before] = [server.running.length, server.cancelled.length];
    const abort = new AbortController();
    const refused = expect(client.call(named('hang'), {}, { signal: abort.signal })).rejects.toBeDefined();
    await until('the server has the call', () => server.running.length > running);
    abort.abort();
    await refused;
    await until('the server hears of it', () => server.cancelled.length > before);
  },
  form: asks('form', 'elicitation/create'),
  url: asks('url', 'elicitation/create'),
  sampling: asks('sample', 'sampling/createMessage'),
  subscription: async ({ client, server }: Meeting) => {
    let told = 0;
    const stop = await client.follow(server.uri, () => told++);
    server.touch();
    await until('the client is told', () => told === 1);
    await stop();
  },
  list_changed: async ({ client, server, named }: Meeting) => {
    let told = 0;
    await client.onToolsChanged(() => told++);
    const name = named(server.grow());
    await until('the client is told', () => told > 0);
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

/** Whoever comes is who their token says. */
const byName: Authenticate = ({ headers }) => {
  const id = /^Bearer ([\w-]+)$/.exec(headers.authorization ?? '')?.[1];
  return id === undefined ? undefined : { id, roles: ['user'], via: 'gateway' };
};

const plainly = (name: string) => name.replace(' ', '-');

/** One gateway with a server of every version behind it. */
async function mixedEstate() {
  const servers = new Map<ServerName, DatedServer>();
  for (const version of SERVERS) {
    const server = await DATED_SERVERS[version]();
    onTestFinished(() => server.close());
    servers.set(version, server);
  }
  const entries = Object.fromEntries([...servers].map(([version, { entry }]) => [`v${plainly(version)}`, entry]));
  const { port } = await gatewayUnderTest({ servers: entries, authenticate: byName });
  async function meetings(name: ClientName): Promise<ReadonlyMap<ServerName, Meeting>> {
    const client = await DATED_CLIENTS[name]({ port, token: plainly(name) });
    onTestFinished(() => client.close());
    const meet = ([version, server]: [ServerName, DatedServer]) =>
      [version, { client, server, named: (one: string) => `mcp__v${plainly(version)}__${one}` }] as const;
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

/** What `outcomes` has to be. */
const expectedBy = (client: ClientName) =>
  Object.fromEntries(
    SERVERS.map((server) => {
      const cell = Object.keys(PROBES).map((feature) => {
        const words = expected(feature, client, server);
        return [feature, typeof words === 'string' ? words : expect.stringMatching(words)];
      });
      return [server, Object.fromEntries(cell)];
    }),
  );

describe.each(CLIENTS)('a client of %s', (name) => {
  verifies('P3', 'gets from servers of every version whatever both of them know, and is told of the rest', async () => {
    const { meetings } = await mixedEstate();
    const met = await meetings(name);
    for (const { client } of met.values()) expect(client.version).toBe(name.slice(0, 10));
    expect(await outcomes(met)).toEqual(expectedBy(name));
  });
});

verifies('P3', 'clients and servers of all versions talk at once, and nobody gets another’s answer', async () => {
  const { meetings } = await mixedEstate();
  const features = ['call', 'form', 'url', 'sampling', 'prompts'] as const;
  const met = await Promise.all(CLIENTS.map(async (name) => [name, await meetings(name)] as const));
  const one = async (name: ClientName, [server, meeting]: [ServerName, Meeting]) => {
    for (const feature of features) {
      if (expected(feature, name, server) === WORKS) await PROBES[feature](meeting);
    }
  };
  await Promise.all(met.flatMap(([name, all]) => [...all].map((meeting) => one(name, meeting))));
});

verifies('P3', 'the documentation says the same', async () => {
  const page = await readFile(join(ROOT, 'docs', 'compatibility.md'), 'utf8');
  expect(page).toContain(compatibilityTable(CLIENTS, SERVERS));
});
