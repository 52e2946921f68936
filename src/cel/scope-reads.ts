import type { ExpressionProblem } from './describe-error.ts';
import type { SyntaxNode } from './meter.ts';
import { childrenOf, walk } from './syntax.ts';

/** The one variable of a value expression: a map from names to values. */
export const SCOPE = 'scope';
/** The name whose fields are the steps: `$steps.search` is `$search`. */
export const STEPS = 'steps';

/** A value that an expression reads: `$search.result.hits[0]` is the name `search` and the parts after it. */
export interface ScopeRead {
  readonly name: string;
  /** The parts that are literals. Reading goes on below them if a part is computed. */
  readonly parts: readonly (string | number)[];
  /** True if a missing value is no error: `.?`, `has`. */
  readonly isOptional: boolean;
  readonly start: number;
}

/** A node as the parser makes it. `meta` holds the functions that check and evaluate it. */
interface ParsedNode {
  op: string;
  args: unknown;
  readonly meta: Record<'check' | 'evaluate', unknown>;
}

const ACCESSES: ReadonlySet<string> = new Set(['.', '.?', '[]', '[?]']);

/** Changes `scope["name"]` to `scope.name`: `has` takes fields only. `field` is a node of the form `a.b`. */
export function namesToFields(root: SyntaxNode, field: SyntaxNode): void {
  const { check, evaluate } = (field as unknown as ParsedNode).meta;
  walk(root, (node) => {
    const [left, right] = node.op === '[]' ? (node.args as readonly SyntaxNode[]) : [];
    if (!left || right?.op !== 'value' || typeof right.args !== 'string' || !isScope(left)) return;
    const parsed = node as unknown as ParsedNode;
    parsed.op = '.';
    parsed.args = [left, right.args];
    Object.assign(parsed.meta, { check, evaluate });
  });
}

const isScope = (node: SyntaxNode): boolean => node.op === 'id' && node.args === SCOPE;

/** The access of a value behind `scope`. */
export interface ScopeAccess {
  /** The literal parts before the first computed one. */
  readonly parts: readonly (string | number)[];
  /** The expressions of computed parts. */
  readonly computed: readonly SyntaxNode[];
  readonly isOptional: boolean;
}

/** Returns the access that a node makes; undefined if it does not read `scope`. */
export function accessOf(node: SyntaxNode): ScopeAccess | undefined {
  if (isScope(node)) return { parts: [], computed: [], isOptional: false };
  if (!ACCESSES.has(node.op)) return undefined;
  const [left, right] = node.args as readonly [SyntaxNode, string | SyntaxNode];
  const before = accessOf(left);
  if (!before) return undefined;
  const part = typeof right === 'string' ? right : literalPart(right);
  const isOptional = before.isOptional || node.op === '.?' || node.op === '[?]';
  if (part === undefined) return { ...before, computed: [...before.computed, right as SyntaxNode], isOptional };
  const parts = before.computed.length === 0 ? [...before.parts, part] : before.parts;
  return { ...before, parts, isOptional };
}

function literalPart(node: SyntaxNode): string | number | undefined {
  if (node.op !== 'value') return undefined;
  if (typeof node.args === 'bigint') return Number(node.args);
  return typeof node.args === 'string' ? node.args : undefined;
}

/** Lists the literal paths that an expression reads. Returns a problem if a name is computed. */
export function findReads(root: SyntaxNode): readonly ScopeRead[] | ExpressionProblem {
  const found: ScopeRead[] = [];
  let unnamed: SyntaxNode | undefined;

  function visit(node: SyntaxNode, isTested: boolean): void {
    const access = accessOf(node);
    const below = access ? access.computed : childrenOf(node);
    const read = access && toRead(access, node.start);
    if (read) found.push(isTested ? { ...read, isOptional: true } : read);
    else if (access) unnamed ??= node;
    for (const child of below) visit(child, !access && (isTested || isHas(node)));
  }

  visit(root, false);
  if (!unnamed) return found;
  return {
    message: 'it does not name the step or value that it reads',
    fix: 'Write the name: `$search.result`, or `$steps.search.result`.',
    offset: unnamed.start,
  };
}

const isHas = (node: SyntaxNode): boolean => node.op === 'call' && (node.args as readonly unknown[])[0] === 'has';

function toRead({ parts, computed, isOptional }: ScopeAccess, start: number): ScopeRead | undefined {
  const [name, ...rest] = parts[0] === STEPS ? parts.slice(1) : parts;
  if (typeof name !== 'string') return undefined;
  return { name, parts: rest, isOptional: isOptional || computed.length > 0, start };
}
