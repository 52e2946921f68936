import { HeddleError } from '../core/errors.ts';
import { closest } from '../core/text/did-you-mean.ts';
import { homeFolder } from '../files/home-folder.ts';
import { requireHome } from '../files/require-home.ts';
import { takeActs } from './acts.ts';
import { type Command, helpOf, type Input, KEY_VARIABLE, readInput } from './command.ts';
import { COMMAND_GROUPS, COMMANDS, STATUS } from './command-table.ts';
import { printError } from './print/print-error.ts';

/** The commands that neither read nor write Heddle's folder. */
const WITHOUT_HOME = ['version', 'completion', 'builtin'];

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
  refuseKey(name, command);
  if (!WITHOUT_HOME.includes(name)) requireHome(homeFolder(process.env));
  try {
    return await recorded(name, readInput(command, argv), command);
  } catch (thrown) {
    throw withMeant(thrown, command, argv);
  }
}

/** Throws USAGE_INVALID if a key is given to a command that runs only as the user: it would run with all rights. */
function refuseKey(name: string, { options, hasNoCaller }: Command): void {
  if (Object.hasOwn(options, 'key') || hasNoCaller || process.env[KEY_VARIABLE] === undefined) return;
  const line = name === 'status' ? 'heddle' : `heddle ${name}`;
  throw new HeddleError('USAGE_INVALID', `\`${line}\` cannot run as the API key in ${KEY_VARIABLE}.`, {
    fix: `Unset ${KEY_VARIABLE} to run it as the user of this machine.`,
  });
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

/** Lists all commands in their groups. Each line fits a terminal of 60 columns. */
async function overview(): Promise<string> {
  const { ownCommand } = await import('./print/own-command.ts');
  const { install } = ownCommand(process.env);
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const groups = Object.entries(COMMAND_GROUPS).map(([title, commands]) => [
    title,
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    '',
  ]);
  return [
    'Heddle: one place for the tools of your agents.',
    '',
    'Usage:   heddle <command> [options]',
    'Example: heddle call <server>.<tool> name=value',
    `Alone:   heddle  (${STATUS.summary.toLowerCase()})`,
    'More:    heddle <command> --help',
    '',
    ...groups.flat(),
    `With ${KEY_VARIABLE} or --key FILE a command acts as an API key,`,
    'through a running gateway. Commands that cannot do that',
    'refuse to run.',
    ...(install === undefined ? [] : ['', 'To type heddle in every folder, run once:', `  ${install}`]),
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
