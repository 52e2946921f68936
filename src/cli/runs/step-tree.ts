import type { RunEvent } from '../../core/records/run.ts';

/** The state of a step as a terminal shows it. */
export type StepState = 'running' | 'waiting' | 'in-doubt' | 'done' | 'failed' | 'skipped';

/** A step of a run, or a part of its path: a branch, an item or an iteration. */
export interface StepNode {
  readonly path: string;
  /** The last segment of the path. */
  readonly name: string;
  /** Absent for a part of a path that is no step. */
  state?: StepState;
  /** The error, the reason of a skip, or what the step waits for. */
  note?: string;
  startedAt?: number;
  endedAt?: number;
  readonly children: Map<string, StepNode>;
}

/** The steps of a run, built from its history. */
export interface StepTree {
  readonly root: StepNode;
  /** Adds an event. Returns the step that it changed; undefined if it changed none. */
  add(event: RunEvent): StepNode | undefined;
}

const LOGGED: Readonly<Record<string, StepState>> = {
  start: 'running',
  complete: 'done',
  error: 'failed',
  skip: 'skipped',
};
const HAS_NOTE: readonly StepState[] = ['failed', 'skipped'];

export function openStepTree(): StepTree {
  const root = nodeAt('', '');
  return {
    root,
    add(event) {
      const change = changeOf(event);
      return change && Object.assign(nodeOf(root, event.path), change);
    },
  };
}

const nodeAt = (path: string, name: string): StepNode => ({ path, name, children: new Map() });

/** Finds the node of a path, and adds it with the nodes above it. */
function nodeOf(root: StepNode, path: string): StepNode {
  let node = root;
  for (const name of path.split('/')) {
    let child = node.children.get(name);
    if (!child) {
      child = nodeAt(node === root ? name : `${node.path}/${name}`, name);
      node.children.set(name, child);
    }
    node = child;
  }
  return node;
}

type StepChange = Partial<Pick<StepNode, 'state' | 'note' | 'startedAt' | 'endedAt'>>;

/** Returns the change that an event makes to its step. */
function changeOf({ kind, at, path, detail }: RunEvent): StepChange | undefined {
  if (path === '') return undefined;
  if (kind === 'log') return loggedChange(String(detail.type), at, detail.message);
  if (kind === 'approval') return { state: 'waiting', note: `waits for the approval ${String(detail.approval)}` };
  if (kind === 'timer') return { state: 'waiting', note: untilText(detail.until) };
  if (kind === 'doubt') return { state: 'in-doubt', note: 'may have happened or not' };
  return undefined;
}

function loggedChange(type: string, at: number, message: unknown): StepChange | undefined {
  const state = LOGGED[type];
  if (state === undefined) return undefined;
  if (state === 'running') return { state, startedAt: at };
  return { state, endedAt: at, note: HAS_NOTE.includes(state) ? String(message) : '' };
}

const untilText = (until: unknown): string =>
  typeof until === 'number' ? `waits until ${new Date(until).toISOString()}` : 'waits';
