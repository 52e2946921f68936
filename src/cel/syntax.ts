import type { SyntaxNode } from './meter.ts';

/** The macros that evaluate a condition for each item of a list. */
const COMPREHENSIONS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

/** A call of a method: its name, the receiver and the arguments. */
export type MethodCall = [name: string, receiver: SyntaxNode, args: readonly SyntaxNode[]];

/** Returns the name, receiver and arguments of a method call; undefined for another node. */
export const methodCall = (node: SyntaxNode): MethodCall | undefined =>
  node.op === 'rcall' ? (node.args as MethodCall) : undefined;

/** Returns true for a macro that evaluates an expression for each item of a list. */
export function isComprehension(node: SyntaxNode): boolean {
  const call = methodCall(node);
  return call !== undefined && COMPREHENSIONS.has(call[0]) && call[2].length > 1;
}

/** Returns the node whose size a node counts: `x.size()`, `size(x)`. */
export function sizedBy(node: SyntaxNode): SyntaxNode | undefined {
  const call = methodCall(node);
  if (call) return call[0] === 'size' ? call[1] : undefined;
  if (node.op !== 'call') return undefined;
  const [name, args] = node.args as readonly [string, readonly SyntaxNode[]];
  return name === 'size' ? args[0] : undefined;
}

/** Lists the nodes directly below a node. */
export function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  return nodesIn(node.args);
}

const isNode = (value: unknown): value is SyntaxNode => typeof value === 'object' && value !== null && 'op' in value;

function nodesIn(value: unknown, found: SyntaxNode[] = []): readonly SyntaxNode[] {
  if (isNode(value)) found.push(value);
  else if (Array.isArray(value)) for (const item of value) nodesIn(item, found);
  return found;
}

/** Calls `visit` for a node and every node below it. */
export function walk(node: SyntaxNode, visit: (node: SyntaxNode) => void): void {
  visit(node);
  for (const child of childrenOf(node)) walk(child, visit);
}

/** Finds the first macro that is nested deeper than `max`: each level multiplies the steps by the length of a list. */
export function findTooDeep(node: SyntaxNode, max: number, depth = 0): SyntaxNode | undefined {
  const isLoop = isComprehension(node);
  if (isLoop && depth >= max) return node;
  const deeper = isLoop ? (methodCall(node)?.[2] ?? []) : [];
  for (const child of childrenOf(node)) {
    const found = findTooDeep(child, max, deeper.includes(child) ? depth + 1 : depth);
    if (found) return found;
  }
  return undefined;
}

/** Returns the name of the field of `variable` that a node reads: `args.path`, `args["path"]`, `args.?path`. */
export function fieldRead(node: SyntaxNode, variable: string): string | undefined {
  if (!['.', '.?', '[]', '[?]'].includes(node.op)) return undefined;
  const [left, right] = node.args as readonly [SyntaxNode, string | SyntaxNode];
  if (left.op !== 'id' || left.args !== variable) return undefined;
  if (typeof right === 'string') return right;
  return right.op === 'value' && typeof right.args === 'string' ? right.args : '';
}
