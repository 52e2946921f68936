import type { JsonObject, ResolvedCall, Target } from '../call.ts';

/** Returns the name of a target at a server. */
export const nameAt = ({ name, equivalents }: Target, server: string): string => equivalents?.get(server)?.name ?? name;

/** Returns the names of a target at a server: the server's own and the configured one, which the server cannot change. */
export function namesAt(target: Target, server: string): readonly string[] {
  const name = nameAt(target, server);
  const equivalent = target.equivalents?.get(server);
  const shown = (equivalent ? equivalent.shownAs : target.shownAs) ?? name;
  return shown === name ? [name] : [name, shown];
}

/** Translates a call for one server of a pool: its own tool name and argument names. */
export function callAt(call: ResolvedCall, server: string): ResolvedCall {
  const equivalent = call.target.equivalents?.get(server);
  if (!equivalent) return call;
  const { name, definition, rename } = equivalent;
  return { ...call, input: renamed(call.input, rename), target: { ...call.target, name, definition } };
}

function renamed(input: JsonObject, rename: Readonly<Record<string, string>>): JsonObject {
  const isRenamed = (key: string) => Object.hasOwn(rename, key);
  const keys = Object.keys(input);
  // An undeclared argument with the server's own name is dropped: no rule on arguments has seen it under that name.
  const taken = new Set(Object.values(rename));
  const ordered = [...keys.filter((key) => !isRenamed(key) && !taken.has(key)), ...keys.filter(isRenamed)];
  return Object.fromEntries(ordered.map((key) => [isRenamed(key) ? rename[key] : key, input[key]]));
}
