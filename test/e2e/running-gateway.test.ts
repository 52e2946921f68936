import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { type Outcome, type Project, project, SERVERS } from './heddle-command.ts';

const ODD = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')] };
const MEMORY = join(import.meta.dirname, '..', '..', 'node_modules', '@modelcontextprotocol', 'server-memory');

const using = ({ url, pid }: { url: string; pid: number }) => `Using the gateway at ${url} (pid ${pid}).\n`;

/** A project with a server that has state, and a folder for what the server writes. */
function stateful(more: object = {}, facts: object = {}): Project {
  const files = project({ 'heddle.json': {} });
  const args = [join(SERVERS, 'stateful-server.mjs'), files.folder];
  const state = { command: process.execPath, args, tools: facts, env: { MARK: '${HEDDLE_TEST_MARK:-none}' } };
  writeFileSync(join(files.folder, 'heddle.json'), JSON.stringify({ mcpServers: { state }, ...more }));
  return files;
}

const count = async ({ heddle }: Project, args: readonly string[] = [], env = {}) =>
  (await heddle(['call', 'state.count', ...args], { env })).stdout.trim();

describe('a command with a running gateway of the same configuration', () => {
  verifies('L7', 'shares the state of its servers between two calls; --local does not', async () => {
    const one = stateful();
    const gateway = await one.up();
    expect([await count(one), await count(one), await count(one, ['--local']), await count(one)]).toEqual([
      '1',
      '2',
      '1',
      '3',
    ]);
    const verbose = await one.heddle(['call', 'state.count', '-v']);
    expect([verbose.stdout, verbose.stderr]).toEqual(['4\n', using(gateway)]);
    const local = await one.heddle(['call', 'state.count', '--verbose', '--local']);
    expect([local.stdout, local.stderr]).toEqual(['1\n', 'Servers are started here, because of --local.\n']);
  });

  verifies('L7', 'shares what server-memory remembers', async () => {
    const files = project({ 'heddle.json': {} });
    const env = { MEMORY_FILE_PATH: join(files.folder, 'memory.json') };
    const memory = { command: process.execPath, args: [join(MEMORY, 'dist', 'index.js')], env };
    writeFileSync(join(files.folder, 'heddle.json'), JSON.stringify({ mcpServers: { memory } }));
    await files.up();
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }];
    const made = await files.heddle([
      'call',
      'memory.create_entities',
      '--yes',
      `--args=${JSON.stringify({ entities })}`,
    ]);
    expect([made.code, made.stderr]).toEqual([0, '']);
    const found = await files.heddle(['call', 'memory.search_nodes', 'query=Ada', '--json', '-v']);
    expect([found.code, found.stdout, found.stderr]).toMatchObject([
      0,
      expect.stringContaining('writes programs'),
      expect.stringContaining('Using the gateway'),
    ]);
  });

  verifies('L7', 'runs its calls as the local user, via the command line', async () => {
    const one = stateful({ permissions: { ask: ['mcp__state'] } });
    const gateway = await one.up();
    expect((await one.heddle(['call', 'state.count', '--yes'])).stdout).toBe('1\n');
    await gateway.stop();
    const store = await openStore({ location: join(one.home, 'heddle.sqlite') });
    const records = (await store.audit.search({ limit: 100 })).filter(({ name }) => name.endsWith('count'));
    await store.close();
    expect(records.map(({ caller, via, phase }) => [caller, via, phase])).toEqual([
      [`local:${userInfo().username}`, 'cli', 'outcome'],
      [`local:${userInfo().username}`, 'cli', 'intent'],
    ]);
  });

  verifies('L7', 'keeps every digit of a number, in both directions', async () => {
    const one = stateful();
    await one.up();
    const args = ['call', 'state.mirror', 'number:=9007199254740993', '--json'];
    const [through, local] = [await one.heddle(args), await one.heddle([...args, '--local'])];
    expect(through.stdout).toContain('{"n":9007199254740993}');
    expect(through).toEqual(local);
  });
});

describe('Ctrl-C during a call through a gateway', () => {
  verifies('L7', 'cancels the call at the server, and ends like a local one', async () => {
    const one = stateful();
    const interrupted = (args: readonly string[]) =>
      one.heddle(['call', 'state.wait', ...args], {
        async meanwhile(child) {
          await until('the server has the call', () => existsSync(join(one.folder, 'called')));
          child.kill('SIGINT');
        },
      });
    const local = await interrupted([]);
    for (const file of ['called', 'cancelled']) rmSync(join(one.folder, file), { force: true });
    await one.up();
    expect(await interrupted([])).toEqual(local);
    expect([local.code, local.stderr]).toEqual([130, expect.stringContaining('The call to state was cancelled.')]);
    await until('the server has the cancellation', () => existsSync(join(one.folder, 'cancelled')));
  });
});

describe('a gateway that dies during a call', () => {
  /** Kills the gateway while the tool `wait` runs. */
  async function killed(one: Project): Promise<Outcome> {
    const { pid } = await one.up();
    return one.heddle(['call', 'state.wait'], {
      async meanwhile() {
        await until('the server has the call', () => existsSync(join(one.folder, 'called')));
        process.kill(pid, 'SIGKILL');
      },
    });
  }

  verifies('L7', 'leaves the outcome unknown, like a lost server, and the next command starts its own', async () => {
    const one = stateful();
    const { code, stdout, stderr } = await killed(one);
    expect([code, stdout]).toEqual([9, '']);
    expect(stderr).toMatch(
      /^error OUTCOME_UNKNOWN: The connection to the gateway at http:\S+ \(pid \d+\) was lost\. mcp__state__wait may have happened or not; it was not repeated\.\n {2}fix: .+\n$/,
    );
    const next = await one.heddle(['call', 'state.count', '-v']);
    expect([next.stdout, next.stderr]).toEqual(['1\n', 'No gateway is running. Servers are started here.\n']);
  });

  verifies('L7', 'is a failure that may be repeated if the tool is read-only', async () => {
    const { code, stderr } = await killed(stateful({}, { wait: { readOnly: true } }));
    expect([code, stderr]).toEqual([8, expect.stringMatching(/^error UPSTREAM_FAILED: .+ was lost\.\n {2}fix: .+\n$/)]);
  });
});

describe('a command whose configuration differs from that of the gateway', () => {
  verifies('L7', 'starts its own servers, and says why with -v', async () => {
    const one = stateful();
    const gateway = await one.up();
    const about = `The gateway at ${gateway.url} (pid ${gateway.pid}) has another configuration:`;
    const shell = await one.heddle(['call', 'state.count', '-v'], { env: { HEDDLE_TEST_MARK: 'other' } });
    expect(shell.stderr).toBe(
      `${about} a file, a variable of this shell, a trust decision or the version differs. Servers are started here.\n`,
    );
    const file = await one.heddle(['call', 'state.count', '-v', '--config', 'heddle.json']);
    expect(file.stderr).toBe(`${about} that of ${one.folder}. Servers are started here.\n`);
    const adHoc = await one.heddle(['call', '-v', '--', process.execPath, ...ODD.args, '::', 'plain', 'message=hi']);
    expect([adHoc.stdout, adHoc.stderr]).toEqual(['hi\n', 'Servers are started here.\n']);
  });

  verifies('L7', 'uses the gateway again once that has read the change', async () => {
    const one = stateful();
    const gateway = await one.up();
    await count(one);
    const file = join(one.folder, 'heddle.json');
    const changed = { ...JSON.parse(readFileSync(file, 'utf8')), permissions: { deny: ['mcp__other'] } };
    writeFileSync(file, JSON.stringify(changed));
    await until('the gateway has read the file', () => gateway.stderr().includes('The configuration was read again'));
    const { stdout, stderr } = await one.heddle(['call', 'state.count', '-v']);
    expect([stdout, stderr]).toEqual(['2\n', using(gateway)]);
  });

  verifies('L7', 'is compared by the path of --config without symbolic links', async () => {
    const one = stateful();
    symlinkSync('heddle.json', join(one.folder, 'link.json'));
    const gateway = await one.up(['--port', '0', '--config', 'link.json']);
    const args = ['call', 'state.count', '-v', '--config'];
    expect((await one.heddle([...args, 'heddle.json'])).stderr).toBe(using(gateway));
    expect((await one.heddle(['call', 'state.count', '-v'])).stderr).toContain(`: ${join(one.folder, 'heddle.json')}.`);
    const missing = await one.heddle([...args, 'none.json']);
    expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining('CONFIG_INVALID')]);
  });
});

verifies('L7', 'sends arguments that are larger than the body of a client may be', async () => {
  const one = project({ 'heddle.json': { mcpServers: { odd: ODD } }, 'big.txt': 'x'.repeat(5 * 1024 * 1024) });
  const gateway = await one.up();
  const { code, stdout, stderr } = await one.heddle(['call', 'odd.echo', 'message=@big.txt', '-v']);
  expect([code, stderr, stdout.length > 5 * 1024 * 1024]).toEqual([0, using(gateway), true]);
});
