import type { Json, JsonObject } from '../../../src/core/call.ts';
import type { Flow, FlowNode } from './flow.ts';

/** Writes a flow as a definition in its form. */
export function toSource(flow: Flow): JsonObject {
  if (flow.form === 'rich') return { heddle: 1, name: 'model', steps: flow.steps.map(rich) };
  return { name: 'model', errorHandling: flow.handling, steps: flow.steps.map(classic) };
}

function rich(node: FlowNode): JsonObject {
  const { id, onError, timeoutMs } = node;
  return { id, onError, ...(timeoutMs !== undefined && { timeout: `${timeoutMs}ms` }), ...richKind(node) };
}

function richKind(node: FlowNode): JsonObject {
  switch (node.kind) {
    case 'call':
      return {
        ...{ tool: node.id, input: { id: node.id } },
        ...(node.isOff && { if: 'false' }),
        ...(node.busy > 0 && { retry: { max: 2, backoff: 'fixed', initial: '1s', jitter: false } }),
        ...(node.isUndone && { compensate: { tool: 'undo', input: { was: '$self.result.n' } } }),
        ...(node.onError === 'fallback' && fallback(node.fallback, node.id)),
      };
    case 'sequential':
      return { sequential: node.steps.map(rich) };
    case 'wait':
      return { wait: { for: `${node.ms}ms` } };
    case 'parallel':
      return { parallel: node.branches.map(([one]) => rich(one as FlowNode)), mode: node.mode, allowSideEffects: true };
    case 'switch':
      return { switch: [caseOf(node.holds, node.yes.map(rich))], else: node.no.map(rich) };
    case 'loop':
      return {
        loop: { until: `$loop.index >= ${node.count - 1}`, maxIterations: node.max, do: node.steps.map(rich) },
      };
    case 'fanout':
      return {
        fanout: {
          ...{ items: itemsOf(node.items), maxConcurrency: node.concurrency, do: node.steps.map(rich) },
          ...(node.tolerate !== undefined && { tolerate: { count: node.tolerate } }),
        },
      };
  }
}

// No literal: an object with `then` looks like a promise.
const caseOf = (holds: boolean, steps: readonly JsonObject[]): JsonObject =>
  Object.fromEntries<Json>([
    ['when', String(holds)],
    ['then', steps],
  ]);

const itemsOf = (count: number) => `[${Array.from({ length: count }, (_, index) => index).join(', ')}]`;

function fallback(kind: 'default' | 'value' | 'step', id: string): JsonObject {
  if (kind === 'default') return {};
  return { fallback: kind === 'value' ? { was: 'replaced' } : { id: `${id}-instead`, tool: 'instead', input: {} } };
}

function classic(node: FlowNode): JsonObject {
  const { id, timeoutMs } = node;
  return { id, ...(timeoutMs !== undefined && { timeout: timeoutMs }), ...classicKind(node) };
}

function classicKind(node: FlowNode): JsonObject {
  switch (node.kind) {
    case 'call':
      return { type: 'sequential', toolName: node.id, inputMapping: { id: node.id } };
    case 'parallel':
      return { type: 'parallel', mergeStrategy: node.mode, branches: node.branches.map((steps) => steps.map(classic)) };
    case 'switch':
      return {
        ...{ type: 'conditional', condition: String(node.holds) },
        ...{ ifTrue: node.yes.map(classic), ifFalse: node.no.map(classic) },
      };
    case 'loop':
      return {
        ...{ type: 'loop', condition: `$iteration < ${node.count}`, maxIterations: node.max },
        body: node.steps.map(classic),
      };
    case 'fanout':
      return {
        ...{ type: 'fanout', toolName: node.steps[0]?.id ?? '', splitExpression: itemsOf(node.items) },
        maxConcurrency: node.concurrency,
      };
    default:
      throw new Error(`The classic form has no ${node.kind}.`);
  }
}
