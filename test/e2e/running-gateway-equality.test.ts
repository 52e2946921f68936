import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { type Outcome, project, SERVERS } from './heddle-command.ts';

const ODD = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')] };

const CONFIG = {
  mcpServers: {
    odd: ODD,
    harmless: { ...ODD, tools: { hang: { idempotent: true }, die: { readOnly: true } } },
    careful: ODD,
    off: { ...ODD, enabled: false },
    eliciting: { command: process.execPath, args: [join(SERVERS, 'eliciting-server.ts')] },
  },
  permissions: { deny: ['mcp__odd__picture'], ask: ['mcp__careful'] },
};
const KINDS = { command: process.execPath, args: [join(SERVERS, 'every-kind.mjs')] };
const WITH_KINDS = { ...CONFIG, mcpServers: { ...CONFIG.mcpServers, kinds: KINDS } };
const WITH_BROKEN = { ...CONFIG, mcpServers: { ...CONFIG.mcpServers, broken: { command: 'no-such-program' } } };

type Commands = Readonly<Record<string, readonly string[]>>;

const CALLS: Commands = {
  'a result': ['call', 'odd.echo', 'message=x'],
  'a result as JSON': ['call', 'odd.echo', 'message=x', '--json'],
  'a bare name of several servers': ['call', 'plain', 'message=x'],
  'an error of the tool': ['call', 'odd.fail'],
  'an error of the tool as JSON': ['call', 'odd.fail', '--json'],
  'a protocol error': ['call', 'odd.refuse', '--json'],
  'an unknown name': ['call', 'odd.ecko', 'message=x'],
  'an unknown bare name': ['call', 'nothing_of_the_kind'],
  'a server instead of a tool': ['call', 'odd'],
  'a hidden tool': ['call', 'odd.picture'],
  'arguments that do not fit': ['call', 'odd.echo', 'message:=1', '--json'],
  'a call that needs approval': ['call', 'careful.plain', 'message=x'],
  'a call that was approved': ['call', 'careful.plain', 'message=x', '--yes'],
  'a timeout': ['call', 'harmless.hang', '--timeout', '200', '--json'],
  'a timeout with an unknown outcome': ['call', 'odd.hang', '--timeout', '200'],
  'a server that cannot be started': ['call', 'broken.tool'],
  'a server that is disabled': ['call', 'off.plain', 'message=x'],
  'a server that dies': ['call', 'harmless.die', '--json'],
  'an input request without a terminal': ['call', 'eliciting.book'],
};

// Without a broken server: the gateway knows why it failed last, and a command of its own does not.
const READS: Commands = {
  'a list': ['list', 'tools', '--json'],
  'a list of one server': ['list', 'tools', '--server', 'odd'],
  'a list of an unknown server': ['list', 'tools', '--server', 'od'],
  'a list of categories': ['list', 'categories'],
  'a list that starts no server': ['list', 'prompts', '--no-wait'],
  'a description': ['describe', 'odd.echo'],
  'a description as JSON': ['describe', 'odd.echo', '--json'],
  'a resource': ['read', 'notes://today'],
  'a resource as JSON': ['read', 'notes://by-id/7', '--json'],
  'an unknown resource': ['read', 'notes://todai'],
  'a prompt with an input request': ['prompt', 'eliciting.letter'],
  'an unknown prompt': ['prompt', 'eliciting.leter'],
  'a search': ['search', 'echo', '--json'],
};

/** Runs commands without a gateway, then through one, and compares how they ended. Returns the exit codes. */
async function compare(config: object, commands: Commands): Promise<ReadonlySet<number | null>> {
  const { heddle, up } = project({ 'heddle.json': config });
  await heddle(['list', 'tools']); // Makes the servers known.
  const local: Record<string, Outcome> = {};
  for (const [what, args] of Object.entries(commands)) local[what] = await heddle(args);
  const { url, pid } = await up();
  const through: Record<string, Outcome> = {};
  for (const [what, args] of Object.entries(commands)) {
    const { stderr, ...rest } = await heddle([...args, '-v']);
    const [first, ...others] = stderr.split('\n');
    expect(first, what).toBe(`Using the gateway at ${url} (pid ${pid}).`);
    through[what] = { ...rest, stderr: others.join('\n') };
  }
  expect(through).toEqual(local);
  return new Set(Object.values(local).map(({ code }) => code));
}

verifies('L7', 'calls print the same and end with the same exit codes with and without a gateway', async () => {
  expect(await compare(WITH_BROKEN, CALLS)).toEqual(new Set([0, 1, 2, 3, 6, 7, 8, 9]));
});

verifies('L7', 'lists, descriptions and searches are the same with and without a gateway', async () => {
  expect(await compare(WITH_KINDS, READS)).toEqual(new Set([0, 2]));
});
