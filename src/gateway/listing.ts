import type { JsonObject, Target } from '../core/call.ts';
import type { Page } from '../heddle.ts';
import { INVALID_PARAMS, RpcError } from '../wire/json-rpc.ts';

const listed = new WeakMap<Target, JsonObject>();

/** A page of the catalog as `tools/list` gives it: definitions as their servers wrote them, under their public names. */
export function toListing({ items, next }: Page<Target>): JsonObject {
  const tools = items.map(toTool);
  return next === undefined ? { tools } : { tools, nextCursor: toCursor(next) };
}

export function fromCursor(cursor: unknown): string | undefined {
  if (cursor === undefined) return undefined;
  const name = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString('utf8') : '';
  if (name === '' || toCursor(name) !== cursor) throw new RpcError(INVALID_PARAMS, 'The cursor is not one of ours.');
  return name;
}

const toCursor = (name: string) => Buffer.from(name, 'utf8').toString('base64url');

function toTool(target: Target): JsonObject {
  const known = listed.get(target);
  if (known) return known;
  const tool = { ...target.definition, name: target.publicName };
  listed.set(target, tool);
  return tool;
}
