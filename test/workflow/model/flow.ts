import fc from 'fast-check';

export type Handling = 'stop' | 'skip' | 'fallback';

interface NodeBase {
  /** Set by `withIds`. */
  readonly id: string;
  readonly onError: Handling;
  readonly timeoutMs?: number;
}

/** A step of a random flow. It says what happens, not how it is written. */
export type FlowNode = NodeBase &
  (
    | {
        readonly kind: 'call';
        readonly ms: number;
        /** `mixed`: by the path, so that items and iterations differ. */
        readonly outcome: 'ok' | 'fails' | 'mixed';
        /** The number of attempts that fail and may be repeated. */
        readonly busy: number;
        readonly isOff: boolean;
        readonly isUndone: boolean;
        readonly fallback: 'default' | 'value' | 'step';
      }
    | { readonly kind: 'sequential'; readonly steps: readonly FlowNode[] }
    | { readonly kind: 'wait'; readonly ms: number }
    | {
        readonly kind: 'parallel';
        readonly mode: 'all' | 'first' | 'majority';
        readonly branches: readonly (readonly FlowNode[])[];
      }
    | {
        readonly kind: 'switch';
        readonly holds: boolean;
        readonly yes: readonly FlowNode[];
        readonly no: readonly FlowNode[];
      }
    | { readonly kind: 'loop'; readonly count: number; readonly max: number; readonly steps: readonly FlowNode[] }
    | {
        readonly kind: 'fanout';
        readonly items: number;
        readonly concurrency: number;
        readonly tolerate?: number;
        readonly steps: readonly FlowNode[];
      }
  );

export interface Flow {
  readonly form: 'rich' | 'classic';
  readonly handling: Handling;
  readonly steps: readonly FlowNode[];
  readonly cancelAt?: number;
}

const handling = fc.constantFrom<Handling>('stop', 'stop', 'skip', 'fallback');
const ms = fc.integer({ min: 1, max: 20_000 });
/** Hundreds of milliseconds; `withIds` adds the number of the step, so that no two end at the same time. */
const hundreds = fc.integer({ min: 0, max: 200 });
const timeoutMs = fc.option(hundreds, { nil: undefined, freq: 6 });
const optional = <T>(key: string, value: T | undefined) => (value === undefined ? {} : { [key]: value });
const common = fc
  .record({ onError: handling, timeoutMs })
  .map(({ onError, timeoutMs }) => ({ id: '', onError, ...optional('timeoutMs', timeoutMs) }));

const node = (kind: FlowNode['kind'], fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<FlowNode> =>
  fc.tuple(common, fc.record(fields)).map(([base, own]) => ({ ...base, ...own, kind }) as unknown as FlowNode);

const isRare = fc.integer({ min: 0, max: 4 }).map((one) => one === 0);

function call(form: Flow['form']): fc.Arbitrary<FlowNode> {
  const isRich = form === 'rich';
  return node('call', {
    ms,
    outcome: fc.constantFrom('ok', 'ok', 'ok', 'fails', 'mixed'),
    busy: isRich ? fc.constantFrom(0, 0, 0, 1, 3) : fc.constant(0),
    isOff: isRich ? isRare : fc.constant(false),
    isUndone: isRich ? fc.boolean() : fc.constant(false),
    fallback: isRich ? fc.constantFrom('default', 'value', 'step') : fc.constant('default'),
  });
}

/** Steps that begin with a call, so that no branch ends at the moment in which it begins. */
function block(form: Flow['form'], depth: number): fc.Arbitrary<readonly FlowNode[]> {
  const first = call(form).map((one) => ({ ...one, isOff: false }) as FlowNode);
  return fc.tuple(first, fc.array(anyNode(form, depth), { maxLength: 2 })).map(([one, rest]) => [one, ...rest]);
}

function anyNode(form: Flow['form'], depth: number): fc.Arbitrary<FlowNode> {
  if (depth === 0) return call(form);
  const inner = block(form, depth - 1);
  const branches = fc.array(form === 'rich' ? inner.map((steps) => [sequence(steps)]) : inner, {
    minLength: 1,
    maxLength: 3,
  });
  const itemCall = call(form).map((one) => [one]);
  const kinds = [
    call(form),
    call(form),
    node('parallel', { mode: fc.constantFrom('all', 'first', 'majority'), branches }),
    node('switch', { holds: fc.boolean(), yes: inner, no: inner }),
    node('loop', { count: fc.integer({ min: 1, max: 3 }), max: fc.integer({ min: 1, max: 3 }), steps: inner }),
    node('fanout', {
      items: fc.integer({ min: 1, max: 5 }),
      concurrency: fc.integer({ min: 1, max: 3 }),
      ...(form === 'rich' && { tolerate: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }) }),
      steps: form === 'rich' ? inner : itemCall,
    }),
  ];
  if (form === 'rich') kinds.push(node('sequential', { steps: inner }), node('wait', { ms: hundreds }));
  return fc.oneof(...kinds);
}

const sequence = (steps: readonly FlowNode[]): FlowNode => ({ id: '', onError: 'stop', kind: 'sequential', steps });

/** Random flows of one form. Each step has an id of its own. */
export const anyFlow = (form: Flow['form']): fc.Arbitrary<Flow> =>
  fc
    .record({
      handling: fc.constantFrom<Handling>('stop', 'skip', 'fallback'),
      steps: fc.tuple(block(form, 2), block(form, 1)).map((both) => both.flat()),
      cancelAt: fc.option(
        fc.integer({ min: 1, max: 60_000 }).map((at) => at + 0.375),
        { nil: undefined, freq: 8 },
      ),
    })
    .map(({ handling, steps, cancelAt }) => ({
      ...{ form, handling, steps: withIds(steps, form === 'classic' ? { onError: handling } : {}) },
      ...optional('cancelAt', cancelAt),
    }));

/** Numbers the steps. In the classic form all handle errors in the same way. */
function withIds(steps: readonly FlowNode[], shared: Partial<NodeBase>): readonly FlowNode[] {
  let count = 0;
  const list = (nodes: readonly FlowNode[]): readonly FlowNode[] => nodes.map(one);
  function one(given: FlowNode): FlowNode {
    const base = numbered({ ...given, ...shared }, ++count);
    if (base.kind === 'parallel') return { ...base, branches: base.branches.map(list) };
    if (base.kind === 'switch') return { ...base, yes: list(base.yes), no: list(base.no) };
    if (base.kind === 'call' || base.kind === 'wait') return base;
    // Items begin at the same time, and equal timeouts would end at the same time.
    if (base.kind === 'fanout') return { ...base, steps: list(base.steps.map(withoutTimeouts)) };
    return { ...base, steps: list(base.steps) };
  }
  return list(steps);
}

function numbered(node: FlowNode, count: number): FlowNode {
  const apart = (time: number) => time * 100 + count;
  return {
    ...{ ...node, id: `s${count}` },
    ...(node.timeoutMs !== undefined && { timeoutMs: apart(node.timeoutMs) }),
    ...(node.kind === 'wait' && { ms: apart(node.ms) + 50 }),
  };
}

function withoutTimeouts({ timeoutMs: _, ...node }: FlowNode): FlowNode {
  if (node.kind === 'parallel') return { ...node, branches: node.branches.map((steps) => steps.map(withoutTimeouts)) };
  if (node.kind === 'switch') return { ...node, yes: node.yes.map(withoutTimeouts), no: node.no.map(withoutTimeouts) };
  if (node.kind === 'call' || node.kind === 'wait') return node;
  return { ...node, steps: node.steps.map(withoutTimeouts) };
}
