import type { SyntaxNode } from './meter.ts';
import { childrenOf, fieldRead, walk } from './syntax.ts';

/**
 * Returns the first argument that an expression reads without a test that it exists. `has(args.path)`, `"path" in args`
 * and `args.?path` are such tests. A rule for all tools needs them: reading a missing argument is an error.
 */
export function findUnguarded(root: SyntaxNode): SyntaxNode | undefined {
  const guarded = new Set<string>();
  walk(root, (node) => {
    const name = guardedBy(node);
    if (name !== undefined) guarded.add(name);
  });
  return firstRead(root, guarded);
}

function guardedBy(node: SyntaxNode): string | undefined {
  if (node.op === 'call') {
    const [name, args] = node.args as readonly [string, readonly SyntaxNode[]];
    return name === 'has' && args[0] ? rootField(args[0]) : undefined;
  }
  if (node.op !== 'in') return undefined;
  const [left, right] = node.args as readonly [SyntaxNode, SyntaxNode];
  const isName = left.op === 'value' && right.op === 'id' && right.args === 'args';
  return isName ? String(left.args) : undefined;
}

/** Returns `a` for `args.a.b.c`. */
function rootField(node: SyntaxNode): string | undefined {
  const field = fieldRead(node, 'args');
  if (field !== undefined || node.op !== '.') return field;
  return rootField((node.args as readonly [SyntaxNode])[0]);
}

function firstRead(node: SyntaxNode, guarded: ReadonlySet<string>): SyntaxNode | undefined {
  const field = fieldRead(node, 'args');
  const isOptional = node.op === '.?' || node.op === '[?]';
  if (field !== undefined && !isOptional && !guarded.has(field)) return node;
  for (const child of childrenOf(node)) {
    const found = firstRead(child, guarded);
    if (found) return found;
  }
  return undefined;
}
