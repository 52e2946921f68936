import type { Caller, Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { ENDED_STATUSES, type Run, type RunQuery, type RunResolution } from '../../core/records/run.ts';
import { escapeJson } from '../../core/text/visible-text.ts';
import {
  CONFIG_OPTION,
  type Command,
  GATEWAY_OPTIONS,
  type Input,
  JSON_OPTION,
  readNumber,
  TRUST_OPTION,
} from '../command.ts';
import { type CommandHeddle, localCommandHeddle } from '../command-heddle.ts';
import { readDuration } from '../input/read-duration.ts';
import { oneId, unknownVerb } from '../input/unknown-verb.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { isKeyGiven } from '../remote/given-key.ts';
import { printEvents, printRun, printRuns } from '../runs/print-run.ts';
import { followToEnd } from '../runs/run-at-terminal.ts';
import { runsCommand } from '../runs/runs-command.ts';
import { runOptions } from '../terminal-call.ts';
import { openOptions, withHeddle, withRunningHeddle } from '../with-heddle.ts';

const MAX_LISTED = 10_000;
const DEFAULT_LISTED = 100;

/** The command as it was typed. */
interface Site {
  readonly heddle: CommandHeddle;
  readonly by: Caller;
  readonly words: readonly string[];
  readonly input: Input;
}

interface Verb {
  readonly act: (site: Site) => Promise<number>;
  /** True if the verb executes a run: in a running gateway, else in this process. */
  readonly executes?: true;
}

const VERBS: Readonly<Record<string, Verb>> = {
  list: { act: list },
  show: { act: show },
  events: { act: events },
  resume: { act: resume, executes: true },
  cancel: { act: cancel, executes: true },
  retry: { act: retry, executes: true },
  resolve: { act: resolve, executes: true },
};

export const runs: Command = {
  summary: 'List, show and manage runs of workflows. The commands work beside a running gateway.',
  usage:
    'heddle runs [list] [--in-doubt | --all] [--workflow NAME] | show ID | events ID | resume ID | cancel ID | retry ID --from STEP | resolve ID --happened [--result JSON] | --did-not-happen | --retry',
  notes: [
    'The beginning of an id is enough, as long as only one run has it; runs of the same minute begin alike.',
    'resume goes on with a run that no process executes: after a crash, or after Ctrl-C.',
    'A run is changed in the project folder, and with the --config, with which it began; `show` names them.',
    'retry makes a new run that takes over the results of the steps before --from.',
    'resolve settles a call that may have happened or not, and goes on with the run; `show` has its audit records.',
    'cancel undoes steps that have to be undone, and prints what came of it.',
  ],
  examples: [
    'heddle runs',
    'heddle runs list --in-doubt',
    'heddle runs show 01a1eb51-01e4',
    'heddle runs events 01a1eb51-01e4 --json',
    'heddle runs resume 01a1eb51-01e4',
    'heddle runs retry 01a1eb51-01e4 --from pages',
    `heddle runs resolve 01a1eb51-01e4 --happened --result '{"id":7}'`,
    'heddle runs resolve 01a1eb51-01e4 --step charge --did-not-happen',
  ],
  maxPositionals: 2,
  options: {
    'in-doubt': { type: 'boolean', help: 'list: only runs with a call that may have happened or not' },
    all: { type: 'boolean', help: 'list: runs that have ended, too' },
    workflow: { type: 'string', value: 'NAME', help: 'list: only runs of this workflow' },
    limit: { type: 'string', value: 'N', help: `list: at most so many, newest first (default: ${DEFAULT_LISTED})` },
    reason: { type: 'string', value: 'TEXT', help: 'cancel: the reason, for the history' },
    from: { type: 'string', value: 'STEP', help: 'retry: the first step that runs again' },
    step: { type: 'string', value: 'PATH', help: 'resolve: the step in doubt; not needed if there is one' },
    happened: { type: 'boolean', help: 'resolve: the call happened' },
    result: { type: 'string', value: 'JSON', help: 'resolve: the result of the call that happened' },
    'did-not-happen': { type: 'boolean', help: 'resolve: the call did not happen' },
    retry: { type: 'boolean', help: 'resolve: call the tool again, whatever happened' },
    note: { type: 'string', value: 'TEXT', help: 'resolve: a note for the history' },
    'wait-approval': { type: 'string', value: 'TIME', help: 'resume, retry, resolve: wait this long for an approver' },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    ...GATEWAY_OPTIONS,
    json: JSON_OPTION,
  },
  async run(input) {
    const [word = 'list', ...words] = input.positionals;
    const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
    if (!verb || input.rest !== undefined) throw unknownVerb('runs', word, Object.keys(VERBS));
    const by = localCaller();
    const act = (heddle: CommandHeddle) => verb.act({ heddle, by, words, input });
    if (verb.executes || isKeyGiven(input)) return withRunningHeddle(input, runOptions(input), act);
    // The others read and write the store alone, so no server is started.
    const options = { ...openOptions(input), autoConnect: false, onProblems: printFileProblems };
    return withHeddle(options, (heddle) => act(localCommandHeddle(heddle)));
  },
};

async function list({ heddle, by, words, input }: Site): Promise<number> {
  if (words.length > 0) throw new HeddleError('USAGE_INVALID', '`heddle runs list` takes no id; `show` does.');
  const workflow = input.text('workflow');
  const limit = readNumber('limit', input.text('limit'), MAX_LISTED) ?? DEFAULT_LISTED;
  const status: RunQuery['status'] = input.flag('in-doubt') ? 'in_doubt' : input.flag('all') ? 'all' : 'open';
  const found = await heddle.runs.list(by, { status, limit, ...(workflow !== undefined && { workflow }) });
  if (input.flag('json')) printJson(found);
  else if (found.length > 0) printRuns(found);
  else notice(NONE[status] ?? 'There is no run.');
  if (found.length === limit) notice(`These are the newest ${limit}. List more with --limit ${MAX_LISTED}.`);
  const stopped = found.find((run) => run.stopped && run.status !== 'in_doubt');
  if (stopped) notice(`No process executes ${stopped.id}: ${wayOn(stopped)}.`);
  if (found.some(({ status: one }) => one === 'in_doubt')) {
    notice('A run is in doubt: `heddle runs show ID` shows the call and the commands that settle it.');
  }
  return 0;
}

const NONE: Readonly<Record<string, string>> = {
  open: 'No run is open. `heddle runs list --all` lists those that have ended, too.',
  in_doubt: 'No run is in doubt.',
};

async function show({ heddle, by, words, input }: Site): Promise<number> {
  const run = await heddle.runs.get(by, idOf(words, 'show'));
  if (input.flag('json')) printJson(run);
  else {
    printRun(run, await heddle.runs.events(by, run.id));
    const isOpen = !ENDED_STATUSES.includes(run.status);
    if (isOpen && run.status !== 'in_doubt') {
      notice(`${run.stopped ? 'No process executes it:' : 'If no process executes it,'} ${wayOn(run)}.`);
    }
  }
  return 0;
}

/** Says how to go on with an open run, and in which folder. */
function wayOn(run: Run): string {
  const way = run.origin?.program ? '`heddle.runs.resume` in its program' : `\`${runsCommand('resume', run)}\``;
  return `${way} goes on with it${run.origin ? `, in ${run.origin.folder}` : ''}`;
}

async function events({ heddle, by, words, input }: Site): Promise<number> {
  const found = await heddle.runs.events(by, idOf(words, 'events'));
  if (!input.flag('json')) printEvents(found);
  else for (const event of found) process.stdout.write(`${escapeJson(JSON.stringify(event))}\n`);
  return 0;
}

async function resume(site: Site): Promise<number> {
  const { heddle, by, words } = site;
  const known = await heddle.runs.get(by, idOf(words, 'resume'));
  // An ended run is not executed again: following it prints its result.
  const isOver = ENDED_STATUSES.includes(known.status);
  return follow(site, isOver ? known : await heddle.runs.resume(by, known.id));
}

async function retry(site: Site): Promise<number> {
  const { heddle, by, words, input } = site;
  const from = input.text('from');
  if (from === undefined) {
    throw new HeddleError('USAGE_INVALID', '`heddle runs retry` needs the first step that runs again.', {
      fix: 'Add --from STEP; `heddle runs show ID` lists the steps.',
    });
  }
  const run = await heddle.runs.retry(by, idOf(words, 'retry'), from);
  notice(`The new run is ${run.id}.`);
  return follow(site, run);
}

function follow({ heddle, by, input }: Site, run: Run, isCancelling = false): Promise<number> {
  const text = input.text('wait-approval');
  const waitMs = text === undefined ? undefined : readDuration('wait-approval', text);
  return followToEnd({ heddle, by, json: input.flag('json'), waitMs, isCancelling }, run);
}

async function cancel(site: Site): Promise<number> {
  const { heddle, by, words, input } = site;
  const run = await heddle.runs.cancel(by, idOf(words, 'cancel'), input.text('reason'));
  if (ENDED_STATUSES.includes(run.status)) return printChanged(run, input, 'has ended');
  if (!(await executes(site, run.id)))
    return printChanged(run, input, 'is being cancelled by the process that runs it');
  try {
    await follow(site, run, true);
  } catch (thrown) {
    if ((await heddle.runs.get(by, run.id)).status !== 'cancelled') throw thrown;
    if (!input.flag('json')) print(`${run.id} is cancelled.`);
  }
  return 0;
}

async function resolve(site: Site): Promise<number> {
  const { heddle, by, words, input } = site;
  const run = await heddle.runs.resolve(by, idOf(words, 'resolve'), readResolution(input));
  if (!(await executes(site, run.id))) return printChanged(run, input, 'is settled, and its process goes on');
  notice(`${run.id} is settled and goes on.`);
  return follow(site, run);
}

/** Executes a run in the gateway or in this process. Returns false if another living process owns it. */
async function executes({ heddle, by }: Site, id: string): Promise<boolean> {
  try {
    await heddle.runs.resume(by, id);
    return true;
  } catch (thrown) {
    if (HeddleError.from(thrown).code !== 'RUN_OWNED') throw thrown;
    // It may have ended meanwhile: then its end is printed.
    return ENDED_STATUSES.includes((await heddle.runs.get(by, id)).status);
  }
}

function printChanged(run: Run, input: Input, how: string): number {
  if (input.flag('json')) printJson(run);
  else print(`${run.id} ${how}.`);
  return 0;
}

const WAYS = { happened: 'happened', 'did-not-happen': 'not-happened', retry: 'retry' } as const;

function readResolution(input: Input): RunResolution {
  const chosen = Object.entries(WAYS).filter(([option]) => input.flag(option));
  const [first, ...others] = chosen;
  if (!first || others.length > 0) {
    throw new HeddleError(
      'USAGE_INVALID',
      '`heddle runs resolve` needs one of --happened, --did-not-happen, --retry.',
      {
        fix: 'Run `heddle runs show ID` to see the call, and check the system that its tool acts on.',
      },
    );
  }
  const [, how] = first;
  const [path, note, text] = ['step', 'note', 'result'].map((name) => input.text(name));
  if (text !== undefined && how !== 'happened') {
    throw new HeddleError('USAGE_INVALID', '--result is for a call that happened.', { fix: 'Add --happened.' });
  }
  return {
    how,
    ...(path !== undefined && { path }),
    ...(note !== undefined && { note }),
    ...(text !== undefined && { result: readResult(text) }),
  };
}

function readResult(text: string): Json {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new HeddleError('INPUT_INVALID', '--result is not JSON.', {
      cause,
      fix: `Write JSON: --result '{"id":7}', or --result '"text"'.`,
    });
  }
}

const idOf = (words: readonly string[], verb: string): string => oneId(words, `runs ${verb}`, 'heddle runs list --all');
