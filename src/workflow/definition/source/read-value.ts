import type { Json } from '../../../core/call.ts';
import {
  leafTree,
  listTree,
  MAX_SOURCE_VALUES,
  objectTree,
  requireDepth,
  requireExact,
  requireNewName,
  type SourceMember,
  type SourceTree,
  Unusable,
} from './source-tree.ts';

/** Copies a value that a program gave. Throws `Unusable` if it is not JSON. */
export function readValue(value: unknown): SourceTree {
  const reader = { left: MAX_SOURCE_VALUES };
  return toTree(value, 0, reader);
}

function toTree(value: unknown, depth: number, reader: { left: number }): SourceTree {
  requireDepth(depth, 0);
  if (--reader.left < 0) {
    const message = `The definition has more than ${MAX_SOURCE_VALUES} values.`;
    throw new Unusable('SOURCE_TOO_LARGE', 0, { message, fix: 'Split it into sub-workflows.' });
  }
  if (typeof value === 'number') return leafTree(requireExact(value, 0), 0);
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return leafTree(value, 0);
  if (Array.isArray(value)) {
    return listTree(
      value.map((item) => toTree(item, depth + 1, reader)),
      0,
    );
  }
  if (typeof value === 'object' && isPlain(value)) return toObjectTree(value, depth, reader);
  const message = `The definition has a value of type ${typeof value}, which is not JSON.`;
  throw new Unusable('VALUE_NOT_JSON', 0, { message, fix: 'Use text, numbers, true, false, null, lists and objects.' });
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function toObjectTree(value: object, depth: number, reader: { left: number }): SourceTree {
  const members = new Map<string, SourceMember>();
  for (const [name, member] of Object.entries(value as Record<string, Json | undefined>)) {
    if (member === undefined) continue;
    requireNewName(name, 0, members);
    members.set(name, { nameOffset: 0, tree: toTree(member, depth + 1, reader) });
  }
  return objectTree(members, 0);
}
