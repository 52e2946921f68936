import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { EVERYTHING, type HttpEverything, startEverything } from '../servers/everything.ts';
import { type Endpoint, SDK_CLIENTS, type SdkClient } from '../servers/sdk-clients.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';

type Input = Readonly<Record<string, unknown>>;

/** Every tool of the reference server with valid arguments. */
const CALLS: readonly (readonly [string, Input])[] = [
  ['echo', { message: 'hällo ✓' }],
  ['get-annotated-message', { messageType: 'error', includeImage: true }],
  ['get-env', {}],
  ['get-resource-links', { count: 4 }],
  ['get-resource-reference', { resourceType: 'Text', resourceId: 3 }],
  ['get-resource-reference', { resourceType: 'Blob', resourceId: 2 }],
  ['get-structured-content', { location: 'Chicago' }],
  ['get-sum', { a: 2, b: 40.5 }],
  ['get-tiny-image', {}],
  ['gzip-file-as-resource', { data: 'data:text/plain,hello', outputType: 'resource' }],
  ['toggle-simulated-logging', {}],
  ['toggle-simulated-logging', {}], // Switches it off again.
  ['toggle-subscriber-updates', {}],
  ['toggle-subscriber-updates', {}],
  ['trigger-long-running-operation', { duration: 0.05, steps: 2 }],
];
/** Works only as a task, which Heddle runs for these clients: see tasks.test.ts. */
const ONLY_TASK = 'simulate-research-query';

/** Removes values that differ between any two connections or times. All others have to be equal. */
function comparable(name: string, result: Input): unknown {
  const { resultType: _, _meta, ...rest } = result;
  const meta = Object.entries(_meta ?? {}).filter(([key]) => !key.startsWith('io.modelcontextprotocol/'));
  const text = JSON.stringify({ ...rest, ...(meta.length > 0 && { _meta: Object.fromEntries(meta) }) })
    .replaceAll(/\d{1,2}:\d\d:\d\d [AP]M/g, 'a time of day') // Resources contain their creation time.
    .replaceAll(/mcp__(stdio|http)__/g, '')
    .replaceAll(/for session (undefined|[0-9a-f-]{36})/g, 'for some session'); // The session ids differ.
  const value = JSON.parse(text);
  // Blobs are created per request and contain the time in their base64.
  for (const { resource } of value.content)
    if (resource?.blob && name !== 'gzip-file-as-resource') resource.blob = 'a blob';
  // The environment differs: Heddle passes only a few safe variables.
  if (name === 'get-env') value.content[0].text = typeof JSON.parse(value.content[0].text).PATH;
  return value;
}

const resultOf = (client: SdkClient, name: string, input: Input): Promise<Input> =>
  client.call(name, input).catch(({ code, message }) => ({ content: [], error: { code, message } }));

let http: HttpEverything;
beforeAll(async () => {
  http = await startEverything();
});
afterAll(() => http.close());

const direct: Record<string, () => Endpoint> = {
  stdio: () => ({ command: process.execPath, args: [EVERYTHING, 'stdio'] }),
  http: () => ({ url: http.url }),
};

async function open(connect: (place: Endpoint) => Promise<SdkClient>, place: Endpoint): Promise<SdkClient> {
  const client = await connect(place);
  onTestFinished(() => client.close());
  return client;
}

/** Connects to the server without a gateway. The server is legacy, so a legacy client is used. */
function openDirect(name: string, server: string): Promise<SdkClient> {
  const entry = SDK_CLIENTS.find(([one]) => one === name && one !== 'SDK 2.4 without sessions') ?? SDK_CLIENTS[0];
  return open((entry as (typeof SDK_CLIENTS)[number])[1], (direct[server] as () => Endpoint)());
}

async function openBehind(connect: (place: Endpoint) => Promise<SdkClient>) {
  const { up, folder } = project();
  const tapped = join(folder, 'tapped');
  const stdio = {
    command: process.execPath,
    args: [join(SERVERS, 'wiretap.mjs'), tapped, process.execPath, EVERYTHING],
  };
  const servers = { stdio, http: { type: 'http', url: http.tappedUrl } };
  writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: servers }));
  const { url, token } = await up();
  const received: Record<string, () => string> = {
    stdio: () => (existsSync(tapped) ? readFileSync(tapped, 'utf8') : ''),
    http: http.received,
  };
  const client = await open(connect, { url, token });
  // A list waits 2 s for servers that start; on a busy machine they need longer.
  const isListed = (names: readonly string[]) =>
    Object.keys(servers).every((one) => names.includes(`mcp__${one}__echo`));
  await until('both servers are listed', async () => isListed((await client.list()).map(({ name }) => String(name))));
  return { client, received };
}

/** Expects the progress of a long operation, and that its cancellation reaches the server. */
async function expectProgressAndCancellation({ client, received }: Awaited<ReturnType<typeof openBehind>>) {
  for (const server of ['stdio', 'http']) {
    const tool = `mcp__${server}__trigger-long-running-operation`;
    const steps: unknown[] = [];
    const onprogress = (step: unknown) => void steps.push(step);
    await client.call(tool, { duration: 0.3, steps: 3 }, { onprogress });
    expect(steps).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3 })));
    const before = (received[server] as () => string)().split('notifications/cancelled').length;
    const abort = new AbortController();
    const watching = { signal: abort.signal, onprogress: () => abort.abort() };
    await expect(client.call(tool, { duration: 60, steps: 600 }, watching)).rejects.toBeDefined();
    const cancelled = () => (received[server] as () => string)().split('notifications/cancelled').length > before;
    await until(`${server} has the cancellation`, cancelled);
    expect(await client.call(`mcp__${server}__get-sum`, { a: 1, b: 1 })).toMatchObject({
      content: [{ type: 'text' }],
    });
  }
}

describe.each(SDK_CLIENTS)('%s, with the reference server behind heddle up', (name, connect) => {
  const bare = ({ name: _, execution: __, ...rest }: Input) => rest; // 2026-07-28 has no `execution`.

  verifies('P1', 'gets the tools, results and progress of a direct connection, and can cancel', async () => {
    const behind = await openBehind(connect);
    const { client } = behind;
    const listed = await client.list();
    for (const server of ['stdio', 'http']) {
      const other = await openDirect(name, server);
      const tools = await other.list();
      expect(new Set(tools.map((tool) => tool.name))).toEqual(new Set([...CALLS.map(([tool]) => tool), ONLY_TASK]));
      for (const tool of tools) {
        const same = listed.find((one) => one.name === `mcp__${server}__${tool.name}`);
        expect([tool.name, same && bare(same)]).toEqual([tool.name, bare(tool)]);
      }
      for (const [tool, input] of CALLS) {
        const through = await resultOf(client, `mcp__${server}__${tool}`, input);
        const straight = await resultOf(other, tool, input);
        expect([server, tool, comparable(tool, through)]).toEqual([server, tool, comparable(tool, straight)]);
      }
    }
    await expectProgressAndCancellation(behind);
  });
});
