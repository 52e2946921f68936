import { HeddleError } from '../core/errors.ts';
import { closest } from '../core/text/did-you-mean.ts';
import { takeActs } from './acts.ts';
import { type Command, helpOf, type Input, readInput } from './command.ts';
import { printError } from './print/print-error.ts';

interface Entry {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

// Each command is loaded on use, so that start-up stays short.
const COMMANDS: Readonly<Record<string, Entry>> = {
  up: { summary: 'Start the gateway', load: async () => (await import('./commands/up.ts')).up },
  serve: { summary: 'Serve one MCP client over stdio', load: async () => (await import('./commands/serve.ts')).serve },
  list: { summary: 'List servers, or what they have', load: async () => (await import('./commands/list.ts')).list },
  call: { summary: 'Call a tool', load: async () => (await import('./commands/call.ts')).call },
  run: { summary: 'Run a workflow', load: async () => (await import('./commands/run.ts')).runWorkflowCommand },
  runs: { summary: 'Show and manage runs of workflows', load: async () => (await import('./commands/runs.ts')).runs },
  lint: { summary: 'Check workflows', load: async () => (await import('./commands/lint.ts')).lint },
  describe: { summary: 'Show a tool in full', load: async () => (await import('./commands/describe.ts')).describe },
  read: { summary: 'Read a resource', load: async () => (await import('./commands/read.ts')).read },
  prompt: { summary: 'Get a prompt', load: async () => (await import('./commands/prompt.ts')).prompt },
  search: { summary: 'Find tools by words', load: async () => (await import('./commands/search.ts')).search },
  stats: { summary: 'Show how calls have ended', load: async () => (await import('./commands/stats.ts')).stats },
  add: { summary: 'Add a server', load: async () => (await import('./commands/add.ts')).add },
  remove: { summary: 'Remove a server', load: async () => (await import('./commands/remove.ts')).remove },
  get: { summary: 'Show one server', load: async () => (await import('./commands/get.ts')).get },
  enable: { summary: 'Let a server start again', load: async () => (await import('./commands/enable.ts')).enable },
  disable: {
    summary: 'Keep a server from starting',
    load: async () => (await import('./commands/enable.ts')).disable,
  },
  permissions: {
    summary: 'Show or change what needs approval',
    load: async () => (await import('./commands/permissions.ts')).managePermissions,
  },
  approvals: {
    summary: 'Show and decide approvals of calls',
    load: async () => (await import('./commands/approvals.ts')).manageApprovals,
  },
  policy: {
    summary: 'Check or simulate the rules on calls',
    load: async () => (await import('./commands/policy.ts')).policy,
  },
  key: { summary: 'Make, list or revoke keys', load: async () => (await import('./commands/key.ts')).key },
  audit: {
    summary: 'Search, export or verify the audit log',
    load: async () => (await import('./commands/audit.ts')).manageAudit,
  },
  auth: {
    summary: 'Sign in to a server, or sign out',
    load: async () => (await import('./commands/auth.ts')).manageSignIns,
  },
  secret: { summary: 'Set, list or remove secrets', load: async () => (await import('./commands/secret.ts')).secret },
  trust: {
    summary: 'Trust the servers of a project',
    load: async () => (await import('./commands/trust.ts')).trust,
  },
  import: {
    summary: 'Show or take over other hosts’ servers',
    load: async () => (await import('./commands/import.ts')).importServers,
  },
  export: {
    summary: 'Write servers into another host’s file',
    load: async () => (await import('./commands/export.ts')).exportServers,
  },
  connect: {
    summary: 'Give other hosts this gateway',
    load: async () => (await import('./commands/connect.ts')).connect,
  },
  config: {
    summary: 'Show what is configured, and where',
    load: async () => (await import('./commands/config.ts')).config,
  },
  doctor: {
    summary: 'Find out what does not work, and why',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  builtin: {
    summary: 'Serve a built-in server alone',
    load: async () => (await import('./commands/builtin.ts')).builtin,
  },
  completion: {
    summary: 'Print a completion script for a shell',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
  version: { summary: 'Show the version', load: async () => (await import('./commands/version.ts')).version },
};
const STATUS: Entry = {
  summary: 'Show how things are',
  load: async () => (await import('./commands/status.ts')).status,
};

/** Runs one command line and sets the exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', allowClosedPipe);
  try {
    process.exitCode = await run(argv);
  } catch (thrown) {
    process.exitCode = printError(thrown, argv.includes('--json'));
  }
}

/** Ignores EPIPE: the reader of a pipe may close it early, as in `heddle list tools | head`. */
function allowClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

async function run(argv: readonly string[]): Promise<number> {
  const [first, ...rest] = argv;
  const [command] = rest;
  // `heddle -v call …` means `heddle call -v …`.
  if (first === '-v' && command !== undefined && Object.hasOwn(COMMANDS, command)) {
    return run([command, '-v', ...rest.slice(1)]);
  }
  if (first === '--version' || first === '-v' || first === '-V') return run(['version', ...rest]);
  if (first === '__complete') {
    return (await import('./commands/complete-words.ts')).printCandidates(rest, COMMANDS);
  }
  if (first === 'help' || first === '--help' || first === '-h') return help(rest[0]);
  if (first === undefined || first.startsWith('-')) return runCommand('status', await STATUS.load(), argv);
  const entry = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  if (!entry) throw unknownCommand(first);
  return runCommand(first, await entry.load(), rest);
}

async function runCommand(name: string, command: Command, argv: readonly string[]): Promise<number> {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  if (own.includes('--help') || own.includes('-h')) return printText(helpOf(command).trimEnd());
  try {
    return await recorded(name, readInput(command, argv), command);
  } catch (thrown) {
    throw withMeant(thrown, command, argv);
  }
}

/** Runs a command, and writes an audit record of the changes that it noted, also if it fails after them. */
async function recorded(name: string, input: Input, command: Command): Promise<number> {
  let outcome = 'ok';
  try {
    return await command.run(input);
  } catch (thrown) {
    outcome = HeddleError.from(thrown).code;
    throw thrown;
  } finally {
    const acts = takeActs();
    if (acts.length > 0) await (await import('./record-acts.ts')).recordActs({ name, input, acts, outcome });
  }
}

/** Replaces the fix of a usage error by the command line that was probably meant. */
function withMeant(thrown: unknown, { meant }: Command, argv: readonly string[]): unknown {
  const error = HeddleError.from(thrown);
  const line = error.code === 'USAGE_INVALID' ? meant?.(argv) : undefined;
  if (line === undefined) return thrown;
  return new HeddleError(error.code, error.message, { cause: thrown, fix: `Did you mean \`${line}\`?` });
}

async function help(name: string | undefined): Promise<number> {
  if (name === undefined) return printText(await overview());
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!entry) throw unknownCommand(name);
  return printText(helpOf(await entry.load()).trimEnd());
}

async function overview(): Promise<string> {
  const { ownCommand } = await import('./print/own-command.ts');
  const { install } = ownCommand(process.env);
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  heddle ${name.padEnd(width)} ${summary}`);
  return [
    'Heddle: one place for the tools of your agents.',
    '',
    `  heddle ${''.padEnd(width)} ${STATUS.summary}`,
    ...rows,
    '',
    'Example: heddle call <server>.<tool> name=value',
    'More:    heddle <command> --help',
    ...(install === undefined ? [] : [`Once:    ${install}  (then heddle works in every folder)`]),
  ].join('\n');
}

function unknownCommand(name: string): HeddleError {
  const guess = closest(name, Object.keys(COMMANDS));
  const fix = guess ? `Did you mean \`heddle ${guess}\`?` : 'Run `heddle --help` to see the commands.';
  return new HeddleError('USAGE_INVALID', `There is no command ${name}.`, { fix });
}

function printText(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}
