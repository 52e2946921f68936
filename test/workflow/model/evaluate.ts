import type { Json, JsonObject } from '../../../src/core/call.ts';
import type { Flow, FlowNode } from './flow.ts';

/** The expected end of a flow, and its calls. */
export interface Expected {
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly output?: Json;
  readonly code?: string;
  /** `path#attempt` of each call that begins. */
  readonly calls: readonly string[];
}

/** A call of the model: the world of a simulation responds in the same way. */
export interface ModelCall {
  readonly ms: number;
  readonly result?: { readonly n: number };
  readonly code?: 'BUSY' | 'BROKEN';
}

/** Decides about one attempt of a call, by its path alone. */
export function respond(node: FlowNode & { readonly kind: 'call' }, path: string, attempt: number): ModelCall {
  const ms = node.ms + hash(`${path}#${attempt}`) / 2 ** 32;
  if (attempt <= node.busy) return { ms, code: 'BUSY' };
  const fails = node.outcome === 'fails' || (node.outcome === 'mixed' && hash(path) % 3 === 0);
  return fails ? { ms, code: 'BROKEN' } : { ms, result: { n: hash(path) % 3 } };
}

/** A 32-bit FNV-1a hash. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return value;
}

const RETRIES = 2;
const RETRY_MS = 1000;

/** The end of a step or a block, in time. */
interface Outcome {
  readonly end: number;
  /** The code of its failure. */
  readonly code?: string;
  /** The last result; absent if there is none. */
  readonly last?: { readonly value: Json; readonly isDefault?: boolean };
  readonly calls: readonly { readonly key: string; readonly at: number }[];
  /** The paths of calls that have committed and can be undone, in the order of the definition. */
  readonly undo: readonly { readonly path: string; readonly at: number }[];
}

/** Evaluates a flow in time, without any part of the interpreter. */
export function evaluateFlow({ form, steps, cancelAt }: Flow): Expected {
  const whole = evaluateBlock(steps, '', 0, form);
  const isCancelled = cancelAt !== undefined && whole.end > cancelAt;
  const end = isCancelled ? cut(whole, cancelAt, 'CANCELLED') : whole;
  const undone = end.code === undefined ? [] : end.undo.toReversed().map(({ path }) => `${path}/~compensate#1`);
  const calls = [...end.calls.map(({ key }) => key), ...undone];
  if (end.code === undefined) return { status: 'succeeded', output: end.last?.value ?? null, calls };
  return { status: isCancelled ? 'cancelled' : 'failed', code: end.code, calls };
}

/** Ends an outcome at a time: later calls do not begin, and later commits do not happen. */
const cut = (outcome: Outcome, end: number, code: string): Outcome => ({
  ...{ end, code },
  calls: outcome.calls.filter(({ at }) => at < end),
  undo: outcome.undo.filter(({ at }) => at < end),
});

const joined = (outcomes: readonly Outcome[]) => ({
  calls: outcomes.flatMap(({ calls }) => calls),
  undo: outcomes.flatMap(({ undo }) => undo),
});

function evaluateBlock(nodes: readonly FlowNode[], path: string, start: number, form: Flow['form']): Outcome {
  const done: Outcome[] = [];
  let end = start;
  let last: Outcome['last'];
  for (const node of nodes) {
    const outcome = evaluateNode(node, path === '' ? node.id : `${path}/${node.id}`, end, form);
    done.push(outcome);
    end = outcome.end;
    if (outcome.code !== undefined) return { end, code: outcome.code, ...joined(done) };
    last = outcome.last ?? last;
  }
  return { end, ...(last && { last }), ...joined(done) };
}

function evaluateNode(node: FlowNode, path: string, start: number, form: Flow['form']): Outcome {
  if (node.kind === 'call' && node.isOff) return { end: start, calls: [], undo: [] };
  let outcome = evaluateKind(node, path, start, form);
  const isTimed = node.kind !== 'call' && node.timeoutMs !== undefined;
  if (isTimed && outcome.end > start + (node.timeoutMs ?? 0)) {
    outcome = cut(outcome, start + (node.timeoutMs ?? 0), 'TIMEOUT');
  }
  if (outcome.code === undefined || node.onError === 'stop') return outcome;
  const { end, calls, undo } = outcome;
  if (node.onError === 'skip') return { end, calls, undo };
  if (node.kind !== 'call' || node.fallback === 'default') {
    return { end, calls, undo, last: { value: { fallback: true, error: '' }, isDefault: true } };
  }
  if (node.fallback === 'value') return { end, calls, undo, last: { value: { was: 'replaced' } } };
  const instead = { key: `${path}/~fallback#1`, at: end };
  return { end: end + 1, calls: [...calls, instead], undo, last: { value: { tool: 'instead' } } };
}

function evaluateKind(node: FlowNode, path: string, start: number, form: Flow['form']): Outcome {
  switch (node.kind) {
    case 'call':
      return evaluateCall(node, path, { start, form });
    case 'sequential': {
      const outcome = evaluateBlock(node.steps, path, start, form);
      return outcome.code === undefined ? { ...outcome, last: { value: null, ...outcome.last } } : outcome;
    }
    case 'wait':
      return { end: start + node.ms, last: { value: null }, calls: [], undo: [] };
    case 'switch': {
      const outcome = evaluateBlock(node.holds ? node.yes : node.no, path, start, form);
      if (outcome.code !== undefined || form === 'classic') return outcome;
      return { ...outcome, last: { value: null, ...outcome.last } };
    }
    case 'loop':
      return evaluateLoop(node, path, start, form);
    case 'fanout':
      return evaluateFanout(node, path, start, form);
    case 'parallel':
      return evaluateParallel(node, path, start, form);
  }
}

/** The result of a call: its content in the rich form, the whole tool result in the classic one. */
const resultOf = (content: JsonObject, form: Flow['form']): Json =>
  form === 'rich'
    ? content
    : {
        ...{ content: [{ type: 'text', text: JSON.stringify(content) }], isError: false },
        ...{ structuredContent: content, serverId: 'test' },
      };

/** In the classic form a failure inside of a branch or an item fails the step around it. */
const stopping = (nodes: readonly FlowNode[], form: Flow['form']): readonly FlowNode[] =>
  form === 'rich' ? nodes : JSON.parse(JSON.stringify(nodes), (key, value) => (key === 'onError' ? 'stop' : value));

function evaluateCall(
  node: FlowNode & { readonly kind: 'call' },
  path: string,
  { start, form }: { readonly start: number; readonly form: Flow['form'] },
): Outcome {
  const calls: { key: string; at: number }[] = [];
  let at = start;
  for (let attempt = 1; ; attempt++) {
    calls.push({ key: `${path}#${attempt}`, at });
    const { ms, code, result } = respond(node, path, attempt);
    if (node.timeoutMs !== undefined && node.timeoutMs < ms)
      return { end: at + node.timeoutMs, code: 'TIMEOUT', calls, undo: [] };
    const end = at + ms;
    if (result)
      return { end, last: { value: resultOf(result, form) }, calls, undo: node.isUndone ? [{ path, at: end }] : [] };
    if (code === 'BROKEN' || attempt > RETRIES) return { end, code: code ?? '', calls, undo: [] };
    at = end + RETRY_MS;
  }
}

function evaluateLoop(
  node: FlowNode & { readonly kind: 'loop' },
  path: string,
  start: number,
  form: Flow['form'],
): Outcome {
  const done: Outcome[] = [];
  let end = start;
  for (let index = 0; index < Math.min(node.count, node.max); index++) {
    const outcome = evaluateBlock(node.steps, `${path}/[${index}]`, end, form);
    done.push(outcome);
    end = outcome.end;
    if (outcome.code !== undefined) return { end, code: outcome.code, ...joined(done) };
  }
  if (form === 'classic') return { end, last: { value: done.map(({ last }) => last?.value ?? null) }, ...joined(done) };
  if (node.count > node.max) return { end, code: 'LOOP_EXCEEDED', ...joined(done) };
  return { end, last: { value: done.at(-1)?.last?.value ?? null }, ...joined(done) };
}

function evaluateFanout(
  node: FlowNode & { readonly kind: 'fanout' },
  path: string,
  start: number,
  form: Flow['form'],
): Outcome {
  const free = Array.from({ length: node.concurrency }, () => start);
  const items: Outcome[] = [];
  const starts: number[] = [];
  for (let index = 0; index < node.items; index++) {
    const worker = free.indexOf(Math.min(...free));
    const at = free[worker] ?? start;
    const item = evaluateItem(node, `${path}/[${index}]`, at, form);
    starts.push(at);
    items.push(item);
    free[worker] = item.end;
  }
  const failed = items.filter(({ code }) => code !== undefined).toSorted((a, b) => a.end - b.end);
  const tooMany = failed[node.tolerate ?? 0];
  if (tooMany) {
    const code = node.tolerate === undefined ? (tooMany.code ?? '') : 'TOO_MANY_FAILED';
    return {
      end: tooMany.end,
      code,
      ...joined(items.map((item) => (item === tooMany ? item : cut(item, tooMany.end, '')))),
    };
  }
  return { end: Math.max(...items.map(({ end }) => end)), last: { value: itemsValue(items, form) }, ...joined(items) };
}

/** The classic form names the call of an item after the fan-out, and its tool after the one step. */
function evaluateItem(
  node: FlowNode & { readonly kind: 'fanout' },
  path: string,
  at: number,
  form: Flow['form'],
): Outcome {
  if (form === 'rich') return evaluateBlock(node.steps, path, at, form);
  const { timeoutMs: _, ...call } = node.steps[0] as FlowNode;
  return evaluateBlock(stopping([{ ...call, id: `${node.id}-call` } as FlowNode], form), path, at, form);
}

function itemsValue(items: readonly Outcome[], form: Flow['form']): Json {
  if (form === 'classic') return items.map(({ last }) => last?.value ?? null);
  const entries = items.map(({ code, last }, index) =>
    code === undefined
      ? { index, status: last ? 'ok' : 'skipped', value: last?.value ?? null }
      : { index, status: 'failed', error: { code, message: '' } },
  );
  const count = (status: string) => entries.filter((entry) => entry.status === status).length;
  return { items: entries, ok: count('ok'), failed: count('failed'), total: items.length };
}

type Parallel = FlowNode & { readonly kind: 'parallel' };

function evaluateParallel(node: Parallel, path: string, start: number, form: Flow['form']): Outcome {
  const branches = node.branches.map((steps, index) => {
    const id = form === 'rich' ? steps[0]?.id : String(index + 1);
    return evaluateBlock(stopping(steps, form), `${path}/${id}`, start, form);
  });
  if (node.mode === 'all') return all(node, branches, form);
  if (node.mode === 'first') return first(node, branches, form);
  return form === 'classic' ? most(branches) : majority(branches);
}

const byTime = (a: Outcome, b: Outcome) => a.end - b.end;
const endOf = (branches: readonly Outcome[]) => Math.max(...branches.map(({ end }) => end));
const successesOf = (branches: readonly Outcome[]) =>
  branches.filter(({ code, last }) => code === undefined && last && !last.isDefault).toSorted(byTime);
const lastValue = ({ last }: Outcome): Json => last?.value ?? null;

/** Ends all other branches when one has decided. */
const decide = (branches: readonly Outcome[], by: Outcome, rest: Partial<Outcome>): Outcome => ({
  ...{ end: by.end, ...rest },
  ...joined(branches.map((branch) => (branch === by ? branch : cut(branch, by.end, '')))),
});

function all(node: Parallel, branches: readonly Outcome[], form: Flow['form']): Outcome {
  const [failed] = branches.filter(({ code }) => code !== undefined).toSorted(byTime);
  if (failed) return decide(branches, failed, { code: failed.code ?? '' });
  const values = branches.map(lastValue);
  const keyed = Object.fromEntries(node.branches.map(([one], index) => [one?.id, values[index] ?? null]));
  return { end: endOf(branches), last: { value: form === 'rich' ? keyed : values }, ...joined(branches) };
}

function first(node: Parallel, branches: readonly Outcome[], form: Flow['form']): Outcome {
  const [winning] = successesOf(branches);
  if (!winning) return { end: endOf(branches), code: 'ALL_FAILED', ...joined(branches) };
  const value = lastValue(winning);
  const winner = node.branches[branches.indexOf(winning)]?.[0]?.id ?? '';
  return decide(branches, winning, { last: { value: form === 'rich' ? { winner, value } : [value] } });
}

function most(branches: readonly Outcome[]): Outcome {
  const successes = branches.filter((branch) => successesOf(branches).includes(branch));
  const end = endOf(branches);
  if (successes.length <= branches.length / 2) return { end, code: 'NO_MAJORITY', ...joined(branches) };
  return { end, last: { value: successes.map(lastValue) }, ...joined(branches) };
}

function majority(branches: readonly Outcome[]): Outcome {
  const votes: string[] = [];
  for (const branch of successesOf(branches)) {
    const vote = JSON.stringify(lastValue(branch));
    votes.push(vote);
    const count = votes.filter((one) => one === vote).length;
    if (count > branches.length / 2) return decide(branches, branch, { last: { value: lastValue(branch) } });
  }
  return { end: endOf(branches), code: 'NO_MAJORITY', ...joined(branches) };
}
