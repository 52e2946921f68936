import { Environment } from '@marcbachmann/cel-js/evaluator';
import type { Json, JsonObject } from '../core/call.ts';
import { parseExact } from '../core/exact-numbers.ts';
import { isObject } from '../core/json.ts';
import type { ConditionValues } from './condition.ts';
import type { SyntaxNode } from './meter.ts';
import { childrenOf } from './syntax.ts';

/** Values of a condition for a call with these arguments. */
export const conditionValues = (args: JsonObject): ConditionValues => ({
  caller: { id: 'key:ci', roles: ['user'], via: 'gateway', profile: '', agent: '' },
  tool: {
    name: 'mcp__files__write',
    ownName: 'write',
    server: 'files',
    servers: ['files'],
    kind: 'tool',
    category: 'files',
    riskLevel: 'medium',
    readOnly: false,
    destructive: true,
    idempotent: false,
    openWorld: false,
    requiresApproval: false,
    builtin: false,
    costPerCall: 0.5,
    requires: [],
  },
  kind: 'tool',
  args,
  annotations: { destructiveHint: true },
  taint: ['private'],
  time: new Date('2026-11-17T22:30:00Z'),
});

/** An expression whose JSON values are in the arguments instead. */
export interface MovedExpression {
  readonly source: string;
  readonly args: JsonObject;
}

/** `leaves` moves each text and number by itself, `whole` also lists and maps of them. */
export type Moved = 'nothing' | 'leaves' | 'whole';

const environment = new Environment({
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
  unlistedVariablesAreDyn: true,
});

/** Moves the literals of an expression, and the values that a test binds to names, into the arguments. */
export function moveToArguments(
  source: string,
  bound: JsonObject,
  { moved, root }: { readonly moved: Moved; readonly root: string },
): MovedExpression {
  const args: Record<string, Json | undefined> = { ...bound };
  const edits: { readonly start: number; readonly end: number; readonly text: string }[] = [];

  function visit(node: SyntaxNode & { readonly end?: number }): void {
    const { start, end = start } = node;
    const value = moved === 'nothing' ? undefined : literalText(node, moved === 'whole');
    const isName = node.op === 'id' && typeof node.args === 'string' && Object.hasOwn(bound, node.args);
    if (value !== undefined) {
      const name = `v${edits.length}`;
      args[name] = parseExact(value);
      edits.push({ start, end, text: `${root}.${name}` });
    } else if (isName) edits.push({ start, end, text: `${root}.${node.args}` });
    else for (const child of childrenOf(node)) visit(child);
  }

  visit(environment.parse(source).ast as unknown as SyntaxNode);
  let text = source;
  for (const edit of edits.sort((a, b) => b.start - a.start)) {
    text = text.slice(0, edit.start) + edit.text + text.slice(edit.end);
  }
  return { source: text, args };
}

/** Returns a literal as JSON; undefined if JSON does not have it. */
function literalText({ op, args }: SyntaxNode, isWhole: boolean): string | undefined {
  if (op === 'value') {
    if (typeof args === 'bigint') return String(args);
    return typeof args === 'object' && args !== null ? undefined : JSON.stringify(args);
  }
  if (!isWhole) return undefined;
  if (op === '-_') {
    const inner = literalText(args as SyntaxNode, true);
    return inner !== undefined && /^\d/.test(inner) ? `-${inner}` : undefined;
  }
  if (op === 'map') return mapText(args as readonly (readonly SyntaxNode[])[]);
  const items = op === 'list' ? (args as readonly SyntaxNode[]).map((item) => literalText(item, true)) : [undefined];
  return items.includes(undefined) ? undefined : `[${items.join(',')}]`;
}

function mapText(nodes: readonly (readonly SyntaxNode[])[]): string | undefined {
  const entries = nodes.map((entry) => entry.map((one) => literalText(one, true)));
  const isJson = entries.every(([key, value]) => key?.startsWith('"') && value !== undefined);
  const isUnique = new Set(entries.map(([key]) => key)).size === entries.length;
  return isJson && isUnique ? `{${entries.map((entry) => entry.join(':')).join(',')}}` : undefined;
}

/** Converts a value of the conformance data to JSON; undefined if JSON does not have it. */
export function conformanceValue(value: unknown): Json | undefined {
  if (!isObject(value)) return undefined;
  const [kind, content] = Object.entries(value)[0] ?? [];
  switch (kind) {
    case 'int64Value':
    case 'uint64Value':
      return parseExact(String(content));
    case 'doubleValue':
      return typeof content === 'number' ? content : undefined;
    case 'stringValue':
    case 'boolValue':
      return content;
    case 'nullValue':
      return null;
    case 'listValue':
      return allDefined(((content as JsonObject).values ?? []) as readonly Json[]);
    case 'mapValue':
      return toMap(((content as JsonObject).entries ?? []) as readonly JsonObject[]);
    default:
      return undefined;
  }
}

function allDefined(values: readonly Json[]): Json | undefined {
  const converted = values.map(conformanceValue);
  return converted.includes(undefined) ? undefined : (converted as Json[]);
}

function toMap(entries: readonly JsonObject[]): Json | undefined {
  const converted = entries.map(({ key, value }) => [conformanceValue(key), conformanceValue(value)] as const);
  const isJson = converted.every(([key, value]) => typeof key === 'string' && value !== undefined);
  return isJson ? (Object.fromEntries(converted) as Json) : undefined;
}
