import type { JsonObject, ResolvedCall, Target } from '../call.ts';

/** What a server itself calls a target. */
export const nameAt = ({ name, equivalents }: Target, server: string): string => equivalents?.get(server)?.name ?? name;

/** Everything a target is called at a server: there, and by its configuration. The server cannot change the second. */
export function namesAt(target: Target, server: string): readonly string[] {
  const name = nameAt(target, server);
  const equivalent = target.equivalents?.get(server);
  const shown = (equivalent ? equivalent.shownAs : target.shownAs) ?? name;
  return shown === name ? [name] : [name, shown];
}

/** The call as one of its servers understands it: under that server's own name, with its own names for the arguments. */
export function callAt(call: ResolvedCall, server: string): ResolvedCall {
  const equivalent = call.target.equivalents?.get(server);
  if (!equivalent) return call;
  const { name, definition, rename } = equivalent;
  return { ...call, input: renamed(call.input, rename), target: { ...call.target, name, definition } };
}

function renamed(input: JsonObject, rename: Readonly<Record<string, string>>): JsonObject {
  const isRenamed = (key: string) => Object.hasOwn(rename, key);
  const keys = Object.keys(input);
  // What is renamed wins over an argument that nobody described and that has the same name by chance.
  const ordered = [...keys.filter((key) => !isRenamed(key)), ...keys.filter(isRenamed)];
  return Object.fromEntries(ordered.map((key) => [isRenamed(key) ? rename[key] : key, input[key]]));
}
