import { HeddleError } from '../../core/errors.ts';
import type { ChangedCall, Simulation, UndecidableCall } from '../../core/records/policy.ts';
import { counted, isOrAre } from '../../core/text/counted.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Input } from '../command.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { readDuration } from '../input/read-duration.ts';
import { localCaller } from '../local-caller.ts';
import { lowerPriority } from '../lower-priority.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print, transientNotice } from '../print/print-line.ts';
import { runOptions } from '../terminal-call.ts';
import { withHeddle } from '../with-heddle.ts';

const COUNTS: Readonly<Record<string, (simulation: Simulation) => number>> = {
  'newly-allowed': ({ newlyAllowed }) => newlyAllowed,
  'newly-asked': ({ newlyAsked }) => newlyAsked,
  'newly-denied': ({ newlyDenied }) => newlyDenied,
  undecidable: ({ undecidable }) => undecidable,
};
const SHOWN = 50;

/** Decides on the recorded calls by the rules in force and by those of a file, and prints the differences. */
export async function simulatePolicy(input: Input, words: readonly string[]): Promise<number> {
  const candidate = input.text('candidate');
  if (candidate === undefined || words.length > 0) {
    throw new HeddleError(
      'USAGE_INVALID',
      candidate === undefined ? 'No candidate was given.' : `${words[0]} is one word too many.`,
      {
        fix: 'Write for example `heddle policy simulate --candidate policies/new.yaml --since 7d`.',
      },
    );
  }
  const kinds = input.texts('fail-on').map(requireKind);
  const since = Date.now() - readDuration('since', input.text('since') ?? '7d');
  lowerPriority();
  // Rules are decided on the definitions that are known; no server is started.
  const options = { ...runOptions(input), autoConnect: false };
  const isShown = process.stderr.isTTY && !input.flag('json');
  const simulation = await withHeddle(options, (heddle) =>
    heddle.policy.simulate(localCaller(), {
      candidate,
      since,
      signal: untilInterrupted(),
      ...(isShown && { onProgress: (calls: number) => transientNotice(`${calls} calls …`) }),
    }),
  );
  if (isShown) process.stderr.write('\r\x1b[K');
  if (input.flag('json')) printJson(simulation);
  else printSimulation(simulation);
  const found = kinds.filter((kind) => (COUNTS[kind]?.(simulation) ?? 0) > 0);
  if (found.length > 0) notice(`There are calls of the kind ${found.join(', ')}, so the command exits with 1.`);
  return found.length > 0 ? 1 : 0;
}

function requireKind(kind: string): string {
  if (Object.hasOwn(COUNTS, kind)) return kind;
  const guess = closest(kind, Object.keys(COUNTS));
  throw new HeddleError('USAGE_INVALID', `--fail-on has to be one of ${Object.keys(COUNTS).join(', ')}, not ${kind}.`, {
    ...(guess !== undefined && { fix: `Did you mean ${guess}?` }),
  });
}

const COLUMNS: readonly PrintedColumn<ChangedCall>[] = [
  { title: 'TIME', of: ({ at }) => new Date(at).toISOString() },
  { title: 'CALLER', of: ({ caller }) => caller },
  { title: 'TOOL', of: ({ name }) => name },
  { title: 'NOW', of: ({ before }) => before },
  { title: 'THEN', of: ({ after }) => after },
  { title: 'RULE', of: ({ rule }) => rule },
  { title: 'CALL', of: ({ callId }) => callId },
];

const UNDECIDABLE: readonly PrintedColumn<UndecidableCall>[] = [
  { title: 'TIME', of: ({ at }) => new Date(at).toISOString() },
  { title: 'CALLER', of: ({ caller }) => caller },
  { title: 'TOOL', of: ({ name }) => name },
  { title: 'UNDECIDABLE, BECAUSE', of: ({ reason }) => reason },
  { title: 'CALL', of: ({ callId }) => callId },
];

function printUndecidable({ undecidableCalls }: Simulation): void {
  if (undecidableCalls.length === 0) return;
  process.stdout.write('\n');
  printColumns(UNDECIDABLE, undecidableCalls.slice(0, SHOWN));
}

function printSimulation(simulation: Simulation): void {
  const { calls, unchanged, newlyAllowed, newlyAsked, newlyDenied, undecidable, changed, undecidableBy } = simulation;
  print(
    `${counted(calls, 'call')}: ${unchanged} unchanged, ${newlyAllowed} newly allowed, ${newlyAsked} newly asked, ${newlyDenied} newly denied, ${undecidable} undecidable.`,
  );
  for (const [reason, count] of Object.entries(undecidableBy)) print(`Undecidable: ${count}, because ${reason}.`);
  printUndecidable(simulation);
  if (changed.length === 0) return;
  process.stdout.write('\n');
  printColumns(COLUMNS, changed.slice(0, SHOWN));
  const more = newlyAllowed + newlyAsked + newlyDenied - Math.min(changed.length, SHOWN);
  if (more > 0) notice(`${counted(more, 'more changed call')} ${isOrAre(more)} not shown; --json has the newest 1000.`);
}
