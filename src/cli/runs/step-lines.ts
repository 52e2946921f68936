import colors from 'picocolors';
import { durationText } from '../../core/call/describe-approval.ts';
import { counted } from '../../core/text/counted.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { cutToWidth } from '../print/escape-control.ts';
import { isBranchOf, type ShownState, type StepNode } from './step-tree.ts';

const SYMBOLS: Readonly<Record<ShownState, string>> = {
  running: '…',
  waiting: '…',
  'in-doubt': '?',
  done: '✓',
  failed: '✗',
  skipped: '–',
};
const COLOURS: Readonly<Record<ShownState, (text: string) => string>> = {
  running: colors.cyan,
  waiting: colors.yellow,
  'in-doubt': colors.yellow,
  done: colors.green,
  failed: colors.red,
  skipped: colors.dim,
};

/** Formats the time of a step: `340 ms`, `1.2 s`, `2 min 5 s`. */
export function elapsedText(ms: number): string {
  if (ms < 1000) return `${Math.max(Math.round(ms), 0)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : durationText(ms);
}

export interface StepStyle {
  /** The present time, for steps that run. */
  readonly now: number;
  /** The width of the terminal; longer lines are cut. */
  readonly columns: number;
}

/** Formats the steps of a run as an indented tree of at most `max` lines. Text of servers and files is escaped. */
export function stepLines(root: StepNode, style: StepStyle, max = Number.POSITIVE_INFINITY): readonly string[] {
  const whole = linesBelow(root, { ...style, isShort: false });
  if (whole.length <= max) return whole;
  const short = linesBelow(root, { ...style, isShort: true });
  if (short.length <= max) return short;
  // The end of the tree is what happens now.
  const kept = short.slice(short.length - Math.max(max - 1, 1));
  return [`(${counted(short.length - kept.length, 'more step')} above)`, ...kept];
}

interface TreeStyle extends StepStyle {
  /** Leaves out the steps inside of steps that are done. */
  readonly isShort: boolean;
}

const isItem = ({ name }: StepNode) => name.startsWith('[');

function linesBelow({ children }: StepNode, style: TreeStyle, depth = 0): readonly string[] {
  const all = [...children.values()];
  const steps = all.filter((node) => !isItem(node)).flatMap((node) => nodeLines(node, style, depth));
  return [...steps, ...itemLines(all.filter(isItem), style, depth)];
}

function nodeLines(node: StepNode, style: TreeStyle, depth: number): readonly string[] {
  const [only, ...others] = node.children.values();
  if (only && others.length === 0 && isBranchOf(node, only)) return nodeLines(only, style, depth);
  const isClosed = style.isShort && (node.state === 'done' || node.state === 'skipped');
  return [formatStep(node, style, depth), ...(isClosed ? [] : linesBelow(node, style, depth + 1))];
}

/** Formats one step: its mark, name, time and note. */
export function formatStep(node: StepNode, { now, columns }: StepStyle, depth: number): string {
  const { name, state, note = '', startedAt, endedAt } = node;
  const indent = '  '.repeat(depth);
  const mark = state === undefined ? '' : `${COLOURS[state](SYMBOLS[state])} `;
  const ms = startedAt === undefined || state === 'skipped' ? undefined : (endedAt ?? now) - startedAt;
  const text = [name.replace('~', ''), ms === undefined ? '' : elapsedText(ms), note]
    .filter((part) => part !== '')
    .join('  ');
  return `${indent}${mark}${cutToWidth(oneLine(text), columns - indent.length - 3)}`;
}

/** The most items that are shown one by one. Of more, those that run or failed are shown, and all are counted. */
const MAX_ITEMS = 5;

function itemLines(items: readonly StepNode[], style: TreeStyle, depth: number): readonly string[] {
  if (items.length <= MAX_ITEMS) return items.flatMap((item) => nodeLines(item, style, depth));
  const states = items.map(stateWithin);
  const counts = (['done', 'running', 'waiting', 'in-doubt', 'failed'] as const)
    .map((state) => [state, states.filter((one) => one === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${SYMBOLS[state]} ${count}`);
  const open = items.filter((_, at) => states[at] !== 'done' && states[at] !== 'skipped').slice(-MAX_ITEMS);
  return [
    `${'  '.repeat(depth)}${items.length} items: ${counts.join('  ')}`,
    ...open.flatMap((item) => nodeLines(item, style, depth)),
  ];
}

const BY_ATTENTION: readonly ShownState[] = ['in-doubt', 'failed', 'waiting', 'running', 'done', 'skipped'];

/** Returns the state of an item: that of its step that needs the most attention. */
function stateWithin({ state, children }: StepNode): ShownState {
  const states = [state, ...[...children.values()].map(stateWithin)].filter((one) => one !== undefined);
  return BY_ATTENTION.find((one) => states.includes(one)) ?? 'running';
}
