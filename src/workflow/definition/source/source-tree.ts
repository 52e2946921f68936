import type { Json, JsonObject } from '../../../core/call.ts';
import type { WorkflowPlace } from '../../../core/records/workflow.ts';

/** The names and indexes that lead from the root of a definition to one of its values. */
export type SourcePath = readonly (string | number)[];

/** A value of a definition with its offset in the text. */
export interface SourceTree {
  readonly value: Json;
  readonly offset: number;
  readonly items?: readonly SourceTree[];
  readonly members?: ReadonlyMap<string, SourceMember>;
}

export interface SourceMember {
  readonly nameOffset: number;
  readonly tree: SourceTree;
}

/** A part of a text that cannot be used. */
export class Unusable extends Error {
  readonly code: string;
  readonly fix: string;
  readonly offset: number;

  constructor(code: string, offset: number, { message, fix }: { readonly message: string; readonly fix: string }) {
    super(message);
    this.code = code;
    this.fix = fix;
    this.offset = offset;
  }
}

/** The deepest nesting of lists and objects in a definition. Steps are limited separately. */
export const MAX_SOURCE_DEPTH = 100;
/** The most values of a definition, after its aliases are expanded. */
export const MAX_SOURCE_VALUES = 200_000;

/** Returns a leaf of a tree. */
export const leafTree = (value: Json, offset: number): SourceTree => ({ value, offset });

export const listTree = (items: readonly SourceTree[], offset: number): SourceTree => ({
  value: items.map(({ value }) => value),
  offset,
  items,
});

export function objectTree(members: ReadonlyMap<string, SourceMember>, offset: number): SourceTree {
  const value: JsonObject = Object.fromEntries([...members].map(([name, { tree }]) => [name, tree.value]));
  return { value, offset, members };
}

/** Refuses a name that would set a prototype, and one that is written twice. */
export function requireNewName(name: string, offset: number, members: ReadonlyMap<string, SourceMember>): void {
  if (name === '__proto__') {
    throw new Unusable('KEY_INVALID', offset, {
      message: 'The key `__proto__` is not allowed.',
      fix: 'Rename the key.',
    });
  }
  if (!members.has(name)) return;
  const shown = name.slice(0, 80);
  throw new Unusable('KEY_REPEATED', offset, {
    message: `The key \`${shown}\` is written twice in one object.`,
    fix: 'Remove one of the two.',
  });
}

/** Refuses a number that JavaScript cannot hold: it would be rounded without notice. */
export function requireExact(value: number, offset: number): number {
  if (!Number.isFinite(value)) {
    throw new Unusable('NUMBER_NOT_JSON', offset, {
      message: 'Infinity and NaN are not values of JSON.',
      fix: 'Write a number, or put the text in quotes.',
    });
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new Unusable('NUMBER_NOT_EXACT', offset, {
      message: 'An integer beyond 2^53 would be rounded.',
      fix: 'Put the number in quotes, so that it is a text.',
    });
  }
  return value;
}

export function requireDepth(depth: number, offset: number): void {
  if (depth <= MAX_SOURCE_DEPTH) return;
  throw new Unusable('NESTED_TOO_DEEPLY', offset, {
    message: `The definition is nested deeper than ${MAX_SOURCE_DEPTH} levels.`,
    fix: 'Move the inner part to a workflow of its own.',
  });
}

/** Returns the offset of a value or of its name. For a path that is not written: of its nearest written parent. */
export function offsetOf(root: SourceTree, path: SourcePath, part: 'name' | 'value' = 'value'): number {
  let tree = root;
  let offset = root.offset;
  for (const [at, key] of path.entries()) {
    const member = typeof key === 'string' ? tree.members?.get(key) : undefined;
    const next = member?.tree ?? (typeof key === 'number' ? tree.items?.[key] : undefined);
    if (!next) return offset;
    offset = part === 'name' && at === path.length - 1 && member ? member.nameOffset : next.offset;
    tree = next;
  }
  return offset;
}

/** Returns a function from offsets to lines and columns, which count from 1. */
export function placesIn(text: string, file: string | undefined): (offset: number) => WorkflowPlace {
  const starts = [0, ...[...text.matchAll(/\r\n|\n|\r/g)].map(({ 0: end, index }) => index + end.length)];
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { ...(file !== undefined && { file }), line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
