import type { Json } from '../../core/call.ts';
import type { AuditEntry } from '../../core/records/audit-entry.ts';
import type { Run, RunError, RunEvent, RunOrigin, StepInDoubt } from '../../core/records/run.ts';
import { cutText } from '../../core/text/cut-text.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { following, indented } from '../print/escape-control.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';
import { print } from '../print/print-line.ts';
import { runsCommand } from './runs-command.ts';
import { elapsedText, stepLines } from './step-lines.ts';
import { openStepTree } from './step-tree.ts';

/** A run with its input, its output and its calls in doubt. */
export type WholeRun = Run & {
  readonly input: Json;
  readonly output?: Json;
  readonly doubts: readonly StepInDoubt[];
};

const TITLE_WIDTH = 10;
const MAX_ERROR_CHARS = 120;
const MAX_STEP_LINES = 500;

const timeOf = (at: number): string => new Date(at).toISOString();
const statusText = ({ status, stopped }: Run): string =>
  `${status.replaceAll('_', ' ')}${stopped && status !== 'in_doubt' ? ', no process executes it' : ''}`;
const errorText = ({ code, message, path }: RunError): string =>
  `${path === undefined ? '' : `${path}: `}${code}: ${message}`;

const originLabel = ({ folder, file, program }: RunOrigin): string =>
  [folder, ...(file === undefined ? [] : [`--config ${file}`]), ...(program ? ['a program'] : [])].join(', ');

/** Prints runs as a table, with the time that each took or has been open. */
export function printRuns(runs: readonly Run[], now = Date.now()): void {
  const columns: readonly PrintedColumn<Run>[] = [
    { title: 'RUN', of: ({ id }) => id },
    { title: 'WORKFLOW', of: ({ workflow }) => workflow },
    { title: 'STATUS', of: statusText },
    { title: 'STARTED', of: ({ startedAt }) => timeOf(startedAt) },
    { title: 'TIME', of: ({ startedAt, endedAt = now }) => elapsedText(endedAt - startedAt), right: true },
    { title: 'CALLER', of: ({ caller }) => caller.id },
    { title: 'ERROR', of: ({ error }) => (error ? cutText(errorText(error), MAX_ERROR_CHARS) : ''), optional: true },
  ];
  printColumns(columns, runs);
}

/** Prints a run in full: its facts, its steps, and the calls in doubt with the commands that settle them. */
export function printRun(run: WholeRun, events: readonly RunEvent[], now = Date.now()): void {
  for (const [title, text] of rowsOf(run, now)) {
    process.stdout.write(`${following(title.padEnd(TITLE_WIDTH), oneLine(text), process.stdout)}\n`);
  }
  printValue('input', run.input);
  printSteps(events, now);
  if (run.output !== undefined) printValue('output', run.output);
  for (const doubt of run.doubts) printDoubt(run, doubt);
}

function rowsOf(run: Run, now: number): readonly (readonly [string, string])[] {
  const { id, workflow, digest, caller, parent, retryOf, origin, startedAt, endedAt, wakeAt, error } = run;
  return [
    ['run', id],
    ['workflow', `${workflow} (${digest.slice(0, 12)})`],
    ['status', statusText(run)],
    [
      'caller',
      `${caller.id} (${caller.via}${caller.profile === undefined ? '' : `, profile ${caller.profile}`}${caller.agent === undefined ? '' : `, agent ${caller.agent}`})`,
    ],
    ...(parent ? [['parent', `${parent.run} at ${parent.path}`] as const] : []),
    ...(retryOf ? [['retry of', `${retryOf.run} from ${retryOf.from}`] as const] : []),
    ...(origin ? [['project', originLabel(origin)] as const] : []),
    ['started', timeOf(startedAt)],
    [endedAt === undefined ? 'open' : 'took', elapsedText((endedAt ?? now) - startedAt)],
    ...(wakeAt === undefined || endedAt !== undefined ? [] : [['wakes', timeOf(wakeAt)] as const]),
    ...(error ? [['error', errorText(error)] as const] : []),
    ...(error?.fix === undefined ? [] : [['fix', error.fix] as const]),
  ];
}

function printValue(title: string, value: Json): void {
  print(title);
  process.stdout.write(`${indented(JSON.stringify(value, null, 2), process.stdout)}\n`);
}

function printSteps(events: readonly RunEvent[], now: number): void {
  const tree = openStepTree();
  for (const event of events) tree.add(event);
  if (tree.root.children.size === 0) return;
  print('steps');
  const columns = process.stdout.columns || Number.POSITIVE_INFINITY;
  const text = stepLines(tree.root, { now, columns: columns - 2 }, MAX_STEP_LINES)
    .map((line) => `  ${line}`)
    .join('\n');
  process.stdout.write(`${text}\n`);
}

function printDoubt(run: Run, { path, tool, callId, since, records }: StepInDoubt): void {
  print(`in doubt: ${path} called ${tool} at ${timeOf(since)}, and it is not known whether the call happened.`);
  print(`The audit log has of the call ${callId}:`);
  for (const record of records.toReversed()) print(`  ${recordText(record as unknown as AuditEntry)}`);
  print('Check the system that the tool acts on. Then settle it with one of these commands:');
  for (const [meaning, ...options] of SETTLING) {
    print(`  ${meaning}`);
    const command = runsCommand('resolve', run, ['--step', path]);
    process.stdout.write(`    ${oneLine([command, ...options].join(' '))}\n`); // Not wrapped, so that it can be copied.
  }
}

const IS_HASH = /^[0-9a-f]{64}$/;

/** Formats an audit record on one line, without its hashes: those are in `--json`. */
function recordText({ at, phase, name, detail }: AuditEntry): string {
  const facts = Object.entries(detail).filter(([, value]) => !(typeof value === 'string' && IS_HASH.test(value)));
  return `${timeOf(at)}  ${phase}  ${name}  ${JSON.stringify(Object.fromEntries(facts))}`;
}

const SETTLING = [
  ['It happened, with this result:', '--happened', "--result '{…}'"],
  ['It did not happen, so the tool is called now:', '--did-not-happen'],
  ['Call the tool again, whatever happened:', '--retry'],
] as const;

/** Prints the history of a run, one line per event. */
export function printEvents(events: readonly RunEvent[]): void {
  for (const { sequence, at, kind, path, detail } of events) {
    const name = path === '' ? '' : ` ${path}`;
    print(`${sequence} ${timeOf(at)} ${kind}${name} ${cutText(JSON.stringify(detail), MAX_ERROR_CHARS)}`);
  }
}
