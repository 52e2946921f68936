import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { type Outcome, project, SERVERS } from './heddle-command.ts';

const at = (file: string) => ({ command: process.execPath, args: [join(SERVERS, file)] });
const ODD = at('odd-tools.mjs');

/** Commands that have to end in the same way with and without a gateway. */
interface Group {
  readonly mcpServers: object;
  readonly permissions?: object;
  readonly commands: Readonly<Record<string, readonly string[]>>;
  /** The exit codes of the commands. */
  readonly exits: readonly number[];
}

// Small groups: a group starts two processes for each command, and has to end in time on a slow machine.
const GROUPS: Readonly<Record<string, Group>> = {
  'results of calls': {
    mcpServers: { odd: ODD, eliciting: at('eliciting-server.ts') },
    commands: {
      'a result': ['call', 'odd.echo', 'message=x'],
      'a result as JSON': ['call', 'odd.echo', 'message=x', '--json'],
      'a bare name': ['call', 'plain', 'message=x'],
      'an error of the tool': ['call', 'odd.fail'],
      'an error of the tool as JSON': ['call', 'odd.fail', '--json'],
      'a protocol error': ['call', 'odd.refuse', '--json'],
      'an input request without a terminal': ['call', 'eliciting.book'],
    },
    exits: [0, 1],
  },
  'refusals of calls': {
    mcpServers: { odd: ODD },
    permissions: { deny: ['mcp__odd__picture'], ask: ['mcp__odd__plain'] },
    commands: {
      'an unknown name': ['call', 'odd.ecko', 'message=x'],
      'an unknown bare name': ['call', 'nothing_of_the_kind'],
      'a server instead of a tool': ['call', 'odd'],
      'a hidden tool': ['call', 'odd.picture'],
      'arguments that do not fit': ['call', 'odd.echo', 'message:=1', '--json'],
      'a call that needs approval': ['call', 'odd.plain', 'message=x'],
      'a call that was approved': ['call', 'odd.plain', 'message=x', '--yes'],
    },
    exits: [2, 5, 6, 0],
  },
  'failures of servers': {
    mcpServers: {
      odd: { ...ODD, tools: { hang: { idempotent: true }, die: { readOnly: true } } },
      broken: { command: 'no-such-program' },
      off: { ...ODD, enabled: false },
    },
    commands: {
      'a timeout': ['call', 'odd.hang', '--timeout', '200', '--json'],
      'a server that cannot be started': ['call', 'broken.tool'],
      'a server that is disabled': ['call', 'off.plain', 'message=x'],
      'a server that dies': ['call', 'odd.die', '--json'],
    },
    exits: [7, 8, 3],
  },
  'outcomes that are unknown': {
    mcpServers: { odd: ODD },
    commands: {
      'a timeout': ['call', 'odd.hang', '--timeout', '200'],
      'a server that dies': ['call', 'odd.die'],
    },
    exits: [9],
  },
  // Without a broken server: the gateway knows why it failed last, and a command of its own does not.
  'lists and searches': {
    mcpServers: { odd: ODD, kinds: at('every-kind.mjs') },
    commands: {
      'a list': ['list', 'tools', '--json'],
      'a list of one server': ['list', 'tools', '--server', 'odd'],
      'a list of an unknown server': ['list', 'tools', '--server', 'od'],
      'a list of categories': ['list', 'categories'],
      'a list that starts no server': ['list', 'prompts', '--no-wait'],
      'a search': ['search', 'echo', '--json'],
    },
    exits: [0, 2],
  },
  'descriptions, resources and prompts': {
    mcpServers: { odd: ODD, kinds: at('every-kind.mjs'), eliciting: at('eliciting-server.ts') },
    commands: {
      'a description': ['describe', 'odd.echo'],
      'a description as JSON': ['describe', 'odd.echo', '--json'],
      'a resource': ['read', 'notes://today'],
      'a resource as JSON': ['read', 'notes://by-id/7', '--json'],
      'an unknown resource': ['read', 'notes://todai'],
      'a prompt with an input request': ['prompt', 'eliciting.letter'],
      'an unknown prompt': ['prompt', 'eliciting.leter'],
    },
    exits: [0, 2],
  },
};

/** Removes latencies, which differ in each call. */
const timeless = (outcomes: Readonly<Record<string, Outcome>>) =>
  JSON.parse(JSON.stringify(outcomes).replace(/(\\*"latencyMs\\*":)[\d.]+/g, '$1 0'));

for (const [what, { commands, exits, ...config }] of Object.entries(GROUPS)) {
  verifies('L7', `${what} are the same with and without a gateway`, async () => {
    const { heddle, up } = project({ 'heddle.json': config });
    await heddle(['list', 'tools']); // Makes the servers known.
    const local: Record<string, Outcome> = {};
    for (const [name, args] of Object.entries(commands)) local[name] = await heddle(args);
    const { url, pid } = await up();
    const through: Record<string, Outcome> = {};
    for (const [name, args] of Object.entries(commands)) {
      const { stderr, ...rest } = await heddle([...args, '-v']);
      const [first, ...others] = stderr.split('\n');
      expect(first, name).toBe(`Using the gateway at ${url} (pid ${pid}).`);
      through[name] = { ...rest, stderr: others.join('\n') };
    }
    expect(timeless(through)).toEqual(timeless(local));
    expect(new Set(Object.values(local).map(({ code }) => code))).toEqual(new Set(exits));
  });
}
