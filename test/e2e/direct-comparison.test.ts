import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { EVERYTHING, type HttpEverything, startEverything } from '../servers/everything.ts';
import { type Endpoint, INTERACTIVE_CLIENTS, type InteractiveClient } from '../servers/interactive-clients.ts';
import { until } from '../until.ts';
import { BIN, type Project, project, type RunningUp } from './heddle-command.ts';

type ClientName = keyof typeof INTERACTIVE_CLIENTS;
type Result = Readonly<Record<string, unknown>>;

/** A client and an upstream server, with the same server reached directly. */
interface Cell {
  readonly client: InteractiveClient;
  readonly direct: InteractiveClient;
  readonly server: string;
}

type Probe = (cell: Cell) => Promise<void>;

const GREETING = 'hello';
const GZIP = { data: `data:text/plain,${GREETING}`, outputType: 'resourceLink' };
const DOCUMENT = 'demo://resource/static/document/features.md';

const publicName = ({ server }: Cell, name: string) => `mcp__${server}__${name}`;
const textOf = ({ content }: Result) => (content as { text?: string }[]).map(({ text }) => text).join('\n');
const namesOf = (list: readonly Result[], key = 'name') => list.map((one) => String(one[key])).sort();

/** Two servers list the same URIs, so the gateway puts the name of the server in front. */
const publicUri = ({ server }: Cell, uri: string) => `heddle://${server}/${uri}`;
const ownUris = (uris: readonly string[], { server }: Cell) =>
  uris.filter((uri) => uri.startsWith(`heddle://${server}/`)).map((uri) => uri.slice(`heddle://${server}/`.length));

/** Creates a resource that exists only in the session of the client. */
async function addResource(cell: Cell): Promise<string> {
  const name = `${randomUUID()}.gz`;
  await cell.client.call(publicName(cell, 'gzip-file-as-resource'), { ...GZIP, name });
  return `demo://resource/session/${name}`;
}

const PROBES: Readonly<Record<string, Probe>> = {
  async 'lists the tools of a direct connection'(cell) {
    const own = () => cell.client.tools().then((all) => all.map(({ name }) => String(name)));
    const expected = (await cell.direct.tools()).map(({ name }) => publicName(cell, String(name))).sort();
    await cell.client.call(publicName(cell, 'echo'), { message: 'open' });
    await until('its own tools are listed', async () => {
      const listed = (await own()).filter((name) => name.startsWith(`mcp__${cell.server}__`)).sort();
      return JSON.stringify(listed) === JSON.stringify(expected);
    });
  },
  async 'lists the resources and templates of a direct connection'(cell) {
    const uris = async (list: Promise<readonly Result[]>, key: string) => namesOf(await list, key);
    const listed = ownUris(await uris(cell.client.resources(), 'uri'), cell);
    const stable = listed.filter((uri) => !uri.includes('/session/'));
    const direct = (await uris(cell.direct.resources(), 'uri')).filter((uri) => !uri.includes('/session/'));
    expect(stable).toEqual(direct);
    const templates = ownUris(await uris(cell.client.templates(), 'uriTemplate'), cell);
    expect(templates).toEqual(await uris(cell.direct.templates(), 'uriTemplate'));
  },
  async 'lists and reads a resource right after the call that created it'(cell) {
    const uri = await addResource(cell);
    const listed = namesOf(await cell.client.resources(), 'uri').filter((one) => one.endsWith(uri));
    expect(listed).toHaveLength(1);
    const { contents } = await cell.client.read(listed[0] as string);
    expect(contents).toHaveLength(1);
  },
  async 'receives resources/list_changed after the call that created a resource'(cell) {
    const stop = await cell.client.subscribe(publicUri(cell, DOCUMENT));
    const before = cell.client.received.resourceLists;
    await addResource(cell);
    await until('the list has changed', () => cell.client.received.resourceLists > before);
    await stop();
  },
  async 'receives resources/updated for a subscribed resource'(cell) {
    const uri = publicUri(cell, DOCUMENT);
    const stop = await cell.client.subscribe(uri);
    const before = cell.client.received.updated.length;
    await cell.client.call(publicName(cell, 'toggle-subscriber-updates'));
    await until('the update arrives', () => cell.client.received.updated.length > before);
    expect(cell.client.received.updated.at(-1)).toBe(uri);
    await cell.client.call(publicName(cell, 'toggle-subscriber-updates'));
    await stop();
  },
  async 'reads a listed resource as directly'(cell) {
    const [through, straight] = [await cell.client.read(publicUri(cell, DOCUMENT)), await cell.direct.read(DOCUMENT)];
    const text = ({ contents }: Result) => (contents as { text: string }[])[0]?.text;
    expect(text(through)).toBe(text(straight));
  },
  async 'lists and gets the prompts of a direct connection'(cell) {
    const expected = namesOf(await cell.direct.prompts()).map((name) => publicName(cell, name));
    const listed = namesOf(await cell.client.prompts()).filter((name) => name.startsWith(`mcp__${cell.server}__`));
    expect(listed.sort()).toEqual(expected.sort());
    const { messages } = await cell.client.prompt(publicName(cell, 'args-prompt'), { city: 'Basel' });
    expect(messages).toEqual((await cell.direct.prompt('args-prompt', { city: 'Basel' })).messages);
  },
  async 'completes an argument as directly'(cell) {
    const { completion } = await cell.client.complete(publicName(cell, 'completable-prompt'), 'department', 'S');
    const straight = await cell.direct.complete('completable-prompt', 'department', 'S');
    expect((completion as Result).values).toEqual((straight.completion as Result).values);
  },
  async 'answers an elicitation request'(cell) {
    expect(textOf(await cell.client.call(publicName(cell, 'trigger-elicitation-request')))).toContain('Ann Example');
  },
  async 'answers a sampling request'(cell) {
    const result = await cell.client.call(publicName(cell, 'trigger-sampling-request'), { prompt: 'Write.' });
    expect(textOf(result)).toContain('a sampled text');
  },
  async 'answers a roots request'(cell) {
    expect(textOf(await cell.client.call(publicName(cell, 'get-roots-list')))).toContain('file:///home/ann');
  },
  async 'receives log messages from its level on'(cell) {
    await cell.client.setLevel('debug');
    await cell.client.call(publicName(cell, 'toggle-simulated-logging'));
    await cell.client.call(publicName(cell, 'get-sum'), { a: 1, b: 2 });
    await until('a log message arrives', () => cell.client.received.logs.length > 0);
    await cell.client.call(publicName(cell, 'toggle-simulated-logging'));
  },
};

const SERVERS = ['stdio', 'http'] as const;
const TRANSPORTS: Readonly<Record<ClientName, readonly Endpoint['transport'][]>> = {
  'SDK 1.32': ['stdio', 'http', 'sse', 'ws'],
  'SDK 2.4 with a session': ['stdio', 'http', 'sse', 'ws'],
  // HTTP with SSE belongs to the legacy era.
  'SDK 2.4 in the modern era': ['stdio', 'http', 'ws'],
};
/**
 * Returns the servers that a client uses over a transport: both in `npm run soak`, else one in turn. Each client then has
 * each transport and each server, and each transport has each server.
 */
function serversOf(name: ClientName, transport: Endpoint['transport']): readonly (typeof SERVERS)[number][] {
  const turn = Object.keys(TRANSPORTS).indexOf(name) + TRANSPORTS[name].indexOf(transport);
  return MEASURES ? SERVERS : [SERVERS[turn % 2 === 0 ? 0 : 1]];
}

let http: HttpEverything;
beforeAll(async () => {
  http = await startEverything();
});
afterAll(() => http.close());

const REFERENCE = { command: process.execPath, args: [EVERYTHING, 'stdio'] };

function endpointOf(transport: Endpoint['transport'], { folder, env }: Project, { url, token }: RunningUp): Endpoint {
  if (transport === 'stdio')
    return { transport, command: process.execPath, args: [BIN, 'serve', '--stdio'], cwd: folder, env };
  return { transport, url: transport === 'sse' ? url.replace(/\/mcp$/, '/sse') : url, token };
}

async function outcomeOf(probe: Probe, cell: Cell): Promise<string> {
  try {
    await probe(cell);
    return 'works';
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

async function open(connect: () => Promise<InteractiveClient>): Promise<InteractiveClient> {
  const client = await connect();
  onTestFinished(() => client.close());
  return client;
}

describe.each(Object.keys(TRANSPORTS) as ClientName[])('%s with capabilities', (name) => {
  verifies(
    'P1',
    'gets from each server over each transport what a direct connection gets',
    async () => {
      const world = project({
        '.mcp.json': { mcpServers: { stdio: REFERENCE, http: { type: 'http', url: http.url } } },
        'heddle.json': { builtins: { filesystem: { enabled: false } } },
      });
      const up = await world.up();
      const direct = {
        stdio: await open(() => INTERACTIVE_CLIENTS['SDK 1.32']({ transport: 'stdio', ...REFERENCE })),
        http: await open(() => INTERACTIVE_CLIENTS['SDK 1.32']({ transport: 'http', url: http.url })),
      };
      const found: Record<string, string> = {};
      for (const transport of TRANSPORTS[name]) {
        const client = await open(() => INTERACTIVE_CLIENTS[name](endpointOf(transport, world, up)));
        for (const server of serversOf(name, transport)) {
          for (const [title, probe] of Object.entries(PROBES))
            found[`${transport}, ${server} server: ${title}`] = await outcomeOf(probe, {
              client,
              direct: direct[server],
              server,
            });
        }
        await client.close();
      }
      const failed = Object.entries(found).filter(([, outcome]) => outcome !== 'works');
      expect(failed).toEqual([]);
      const cells = TRANSPORTS[name].flatMap((transport) => serversOf(name, transport));
      expect(Object.keys(found)).toHaveLength(cells.length * Object.keys(PROBES).length);
    },
    180_000,
  );
});
