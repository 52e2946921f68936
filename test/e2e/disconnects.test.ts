import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { type ClientName, DATED_CLIENTS } from '../servers/dated-clients.ts';
import { DATED_SERVERS, type DatedServer } from '../servers/dated-servers.ts';
import { until } from '../until.ts';
import { SERVERS } from './heddle-command.ts';

const CLIENTS = Object.keys(DATED_CLIENTS) as ClientName[];
const MANY = process.env.HEDDLE_TEST_SCALE === 'full' ? 1000 : 100;

type Version = keyof typeof DATED_SERVERS;

/** Opens a gateway with servers of these versions, by name. */
async function served<N extends string>(versions: Readonly<Record<N, Version>>) {
  const servers = {} as Record<N, DatedServer>;
  for (const [name, version] of Object.entries(versions) as [N, Version][]) {
    const server = await DATED_SERVERS[version]();
    onTestFinished(() => server.close());
    servers[name] = server;
  }
  const entries = Object.entries<DatedServer>(servers).map(([name, { entry }]) => [name, entry]);
  const config = { sampling: { maxCalls: 10_000, windowMs: 60_000, maxTokens: 500 } };
  const { port } = await gatewayUnderTest({ servers: Object.fromEntries(entries), config });
  return { servers, port };
}

/** A client in a process of its own. */
function startClient(name: ClientName, port: number, tools: readonly string[]): ChildProcess {
  const args = [join(SERVERS, 'unresponsive-client.ts'), name, String(port), TOKEN, ...tools];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const isLegacy = (name: ClientName) => !name.startsWith('2026');

verifies('F6', 'cancels the calls of a killed client of any version, and no others', async () => {
  const { servers, port } = await served({ old: '2025-11-25', new: '2026-07-28' });
  const { old, new: modern } = servers;
  // Between two requests of a modern client its disconnect cannot be seen, so it is not counted.
  const elicited = CLIENTS.filter(isLegacy).length;
  const clients = CLIENTS.map((name) => {
    const tools = ['mcp__old__hang', 'mcp__new__hang', ...(isLegacy(name) ? ['mcp__old__sample'] : [])];
    return [name, startClient(name, port, tools)] as const;
  });
  const areRunning = () => old.running.length === CLIENTS.length + elicited && modern.running.length === CLIENTS.length;
  await until('all calls have come', areRunning);
  const hung = ({ cancelled }: DatedServer) => cancelled.filter((tool) => tool === 'hang').length;
  const sampled = () => old.cancelled.length - hung(old);
  let [gone, goneElicited] = [0, 0];
  for (const [name, child] of clients) {
    child.kill('SIGKILL');
    gone += 1;
    goneElicited += isLegacy(name) ? 1 : 0;
    // The call whose stream had begun is cancelled later: its client may resume it for 500 ms.
    const areCancelled = () => hung(old) === gone && hung(modern) === gone && sampled() === goneElicited;
    await until(`the calls of ${name} are cancelled`, areCancelled);
    expect([hung(old), hung(modern), sampled()]).toEqual([gone, gone, goneElicited]);
  }
});

describe.each(CLIENTS.filter(isLegacy))('a client of %s', (name) => {
  verifies(
    'P3',
    'that cancels during an input request cancels it at the client and the call at the server',
    async () => {
      for (const version of ['2024-11-05', '2025-11-25', '2025-11-25 ws'] as const) {
        const { servers, port } = await served({ up: version });
        const withdrawn = Promise.withResolvers<void>();
        const client = await DATED_CLIENTS[name]({ port, token: TOKEN }, (answer, signal) => {
          signal.addEventListener('abort', () => withdrawn.resolve());
          return withdrawn.promise.then(() => answer);
        });
        onTestFinished(() => client.close());
        const abort = new AbortController();
        const refused = expect(client.call('mcp__up__sample', {}, { signal: abort.signal })).rejects.toBeDefined();
        await until('the input request has come', () => client.inputMethods.length === 1);
        abort.abort();
        await refused;
        await withdrawn.promise;
        await until('its call is cancelled', () => servers.up.cancelled.length === 1);
      }
    },
  );
});

verifies(
  'F5',
  'gives clients of every transport that use the same ids their own input requests and results',
  async () => {
    const { port } = await served({ up: '2026-07-28' });
    const clients = await Promise.all(
      Array.from({ length: MANY }, (_, at) => {
        const name = CLIENTS[at % CLIENTS.length] as ClientName;
        return DATED_CLIENTS[name]({ port, token: TOKEN });
      }),
    );
    onTestFinished(async () => void (await Promise.all(clients.map((client) => client.close()))));
    const results = await Promise.all(clients.map((client) => client.call('mcp__up__sample')));
    const texts = results.map(({ content }) => JSON.parse(String((content as { text: string }[])[0]?.text)));
    expect(texts).toEqual(clients.map(({ responses }) => responses.sample));
    expect(clients.map(({ inputMethods }) => inputMethods.length)).toEqual(clients.map(() => 1));
  },
);
