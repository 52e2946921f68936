import type { RunEvent } from '../../core/records/run.ts';

/** The state of a step as a terminal shows it. */
export type ShownState = 'running' | 'waiting' | 'in-doubt' | 'done' | 'failed' | 'skipped';

/** A step of a run, or a part of its path: a branch, an item or an iteration. */
export interface StepNode {
  readonly path: string;
  /** The last segment of the path. */
  readonly name: string;
  /** Absent for a part of a path that is no step. */
  state?: ShownState;
  /** The error, the reason of a skip, or what the step waits for. */
  note?: string;
  /** The number of attempts, of a step that was repeated. */
  attempts?: number;
  startedAt?: number;
  endedAt?: number;
  readonly children: Map<string, StepNode>;
}

/** The steps of a run, built from its history. */
export interface StepTree {
  readonly root: StepNode;
  /**
   * Adds an event. `prefix` is put before its path, for a run below a step: `sub/`. Returns the step that it changed;
   * undefined if it changed none.
   */
  add(event: RunEvent, prefix?: string): StepNode | undefined;
}

const LOGGED: Readonly<Record<string, ShownState>> = {
  start: 'running',
  complete: 'done',
  error: 'failed',
  skip: 'skipped',
};
const HAS_NOTE: readonly ShownState[] = ['failed', 'skipped'];

export function openStepTree(): StepTree {
  const root = nodeAt('', '');
  return {
    root,
    add(event, prefix = '') {
      if (event.kind === 'ended' && prefix === '') closeBelow(root, event.at);
      const { path, change } = changeOf(event) ?? {};
      if (path === undefined || !change) return undefined;
      const node = nodeOf(root, prefix + path);
      if (change.endedAt !== undefined) closeBelow(node, change.endedAt);
      return Object.assign(node, change, { note: noteOf({ ...node, ...change }) });
    },
  };
}

/** Marks the steps that were still open when the step or run around them ended: losing branches, and those of a cancelled run. */
function closeBelow({ children }: StepNode, at: number): void {
  for (const child of children.values()) {
    if (child.state === 'running' || child.state === 'waiting') {
      Object.assign(child, { state: 'skipped', endedAt: at, note: 'cancelled' });
    }
    closeBelow(child, at);
  }
}

/** Adds the number of attempts to the note of a step that has ended. */
const noteOf = ({ note = '', attempts, endedAt }: StepNode): string =>
  attempts === undefined || endedAt === undefined ? note : [`${attempts} attempts`, note].filter(Boolean).join(', ');

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

/** Tests whether a node is the branch of a step that has its name. */
export const isBranchOf = (node: StepNode, step: StepNode): boolean =>
  node.state === undefined && node.name === step.name;

/** Returns the path of a step without the branches that have the names of their steps: `checks/a` for `checks/a/a`. */
export function shortStepPath(root: StepNode, { path }: StepNode): string {
  const names: string[] = [];
  let node = root;
  for (const name of path.split('/')) {
    const next = node.children.get(name);
    if (!next) return path;
    if (!isBranchOf(node, next)) names.push(name);
    node = next;
  }
  return names.join('/');
}

type StepChange = Partial<Pick<StepNode, 'state' | 'note' | 'attempts' | 'startedAt' | 'endedAt'>>;

const RETRY = /^(.+)\/~retry\/(\d+)$/;

/** Returns the change that an event makes to a step, and the path of the step. */
function changeOf(event: RunEvent): { readonly path: string; readonly change: StepChange | undefined } | undefined {
  const { kind, path, detail } = event;
  if (path === '') return undefined;
  if (kind !== 'timer' && kind !== 'fired') return { path, change: stepChange(event) };
  const [, repeated, attempt] = RETRY.exec(path) ?? [];
  if (repeated !== undefined) return { path: repeated, change: retryChange(kind, Number(attempt), detail) };
  // The other timers below a step are its timeouts.
  return path.includes('~') ? undefined : { path, change: stepChange(event) };
}

const retryChange = (kind: 'timer' | 'fired', attempts: number, detail: RunEvent['detail']): StepChange =>
  kind === 'timer'
    ? { state: 'waiting', note: `attempt ${attempts} ${timerText(detail)}`, attempts }
    : { state: 'running', note: `attempt ${attempts}` };

function stepChange({ kind, at, path, detail }: RunEvent): StepChange | undefined {
  switch (kind) {
    case 'log':
      return loggedChange(String(detail.type), at, textAfter(`Step ${path} `, String(detail.message)));
    case 'waiting':
      return { state: 'waiting', note: waitingText(detail.approval) };
    case 'timer':
      return { state: 'waiting', note: timerText(detail) };
    case 'doubt':
      return { state: 'in-doubt', note: 'may have happened or not' };
    case 'decided':
    case 'fired':
    case 'resolved':
      return { state: 'running', note: '' };
    default:
      return undefined;
  }
}

function loggedChange(type: string, at: number, message: string): StepChange | undefined {
  const state = LOGGED[type];
  if (state === undefined) return undefined;
  if (state === 'running') return { state, startedAt: at };
  return { state, endedAt: at, note: HAS_NOTE.includes(state) ? message : '' };
}

const textAfter = (start: string, text: string): string => (text.startsWith(start) ? text.slice(start.length) : text);

const waitingText = (approval: unknown): string =>
  typeof approval === 'string' ? `waits for the approval ${approval}` : 'waits';

function timerText({ from, forMs, until }: RunEvent['detail']): string {
  const end = typeof until === 'number' ? until : Number(from) + Number(forMs);
  return Number.isFinite(end) ? `waits until ${new Date(end).toISOString()}` : 'waits';
}
