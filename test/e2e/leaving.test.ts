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

/** A gateway with servers of these versions, by the names they have there. */
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
  const args = [join(SERVERS, 'doomed-client.ts'), name, String(port), TOKEN, ...tools];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const isOld = (name: ClientName) => !name.startsWith('2026');

verifies(
  'F6',
  'a client of any version that is killed cancels its calls within a second, and nobody else’s',
  async () => {
    const { servers, port } = await served({ old: '2025-11-25', new: '2026-07-28' });
    const { old, new: modern } = servers;
    // A modern client asks again when its user has answered: while nothing of it is open, nothing can be heard of it.
    const asked = CLIENTS.filter(isOld).length;
    const clients = CLIENTS.map((name) => {
      const tools = ['mcp__old__hang', 'mcp__new__hang', ...(isOld(name) ? ['mcp__old__sample'] : [])];
      return [name, startClient(name, port, tools)] as const;
    });
    const areRunning = () => old.running.length === CLIENTS.length + asked && modern.running.length === CLIENTS.length;
    await until('all calls have come', areRunning);
    const hung = ({ cancelled }: DatedServer) => cancelled.filter((tool) => tool === 'hang').length;
    const sampled = () => old.cancelled.length - hung(old);
    let [gone, goneAsked] = [0, 0];
    for (const [name, child] of clients) {
      child.kill('SIGKILL');
      gone += 1;
      goneAsked += isOld(name) ? 1 : 0;
      // Also that of the stream on which it was asked, which had begun: for half a second it may come back.
      const areCancelled = () => hung(old) === gone && hung(modern) === gone && sampled() === goneAsked;
      await until(`the calls of ${name} are cancelled`, areCancelled);
      expect([hung(old), hung(modern), sampled()]).toEqual([gone, gone, goneAsked]);
    }
  },
);

describe.each(CLIENTS.filter(isOld))('a client of %s', (name) => {
  verifies('P3', 'that cancels while its user is asked asks no longer, and the server hears of it', async () => {
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
      await until('the user is asked', () => client.asked.length === 1);
      abort.abort();
      await refused;
      await withdrawn.promise;
      await until('its call is cancelled', () => servers.up.cancelled.length === 1);
    }
  });
});

verifies(
  'F5',
  'clients of every face that all use the same ids are each asked about their own call, and get their own answer',
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
    const said = results.map(({ content }) => JSON.parse(String((content as { text: string }[])[0]?.text)));
    expect(said).toEqual(clients.map(({ answers }) => answers.sample));
    expect(clients.map(({ asked }) => asked.length)).toEqual(clients.map(() => 1));
  },
);
