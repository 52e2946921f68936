import type { Equivalent, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { StandsFor, ToolEntry } from './entry.ts';
import type { ServerTools } from './server-tools.ts';

/** A tool of one server of a pool. */
export interface Member {
  readonly part: ServerTools;
  readonly tool: ToolEntry;
}

export interface StandIns {
  readonly members: readonly Member[];
  /** By server: the equivalent tool there. */
  readonly equivalents: ReadonlyMap<string, Equivalent>;
  /** Configured tools that cannot stand in, with the reason. */
  readonly problems: readonly string[];
}

/** Selects the configured equivalents that can replace the tool, at most one for each server. */
export function standInsFor(group: readonly [Member, ...Member[]], configured: readonly Member[]): StandIns {
  const [{ tool: original }] = group;
  const taken = new Set(group.map(({ part }) => part.server));
  const members: Member[] = [];
  const problems: string[] = [];
  for (const member of [...configured].sort(byName)) {
    const { server } = member.part;
    const wrong = taken.has(server)
      ? `${server} has another tool for it`
      : misfit(original, member.tool, renameOf(member.tool));
    if (wrong === undefined) members.push(member);
    else problems.push(cannot(member, wrong));
    taken.add(server);
  }
  const equivalents = members.map(({ part, tool: { name, shownAs, definition, standsFor } }) => {
    const { rename } = standsFor as StandsFor;
    return [part.server, { name, ...(shownAs !== name && { shownAs }), definition, rename }] as const;
  });
  return { members, equivalents: new Map(equivalents), problems };
}

/** Builds the message about an equivalent that cannot be used. */
export const cannot = ({ part, tool }: Member, reason: string): string =>
  `${part.server}.${tool.name} cannot stand in for ${tool.standsFor?.tool} in the pool ${part.pool}: ${reason}.`;

/** Returns the reason why renamed arguments of one tool cannot be arguments of the other. */
function misfit(original: ToolEntry, other: ToolEntry, rename: StandsFor['rename']): string | undefined {
  const [ours, theirs] = [propertiesOf(original), propertiesOf(other)];
  const renames = Object.entries(rename);
  const unknown = renames.find(([from]) => !ours.has(from))?.[0];
  if (unknown !== undefined) return `${original.shownAs} has no argument ${unknown}`;
  const missing = renames.find(([, to]) => !theirs.has(to))?.[1];
  if (missing !== undefined) return `it has no argument ${missing}`;
  const passed = [...ours].map((name) => (Object.hasOwn(rename, name) ? rename[name] : name));
  if (new Set(passed).size < passed.length) return 'two arguments would have the same name';
  const required = namesIn(other.definition, 'required').find((name) => !passed.includes(name));
  return required === undefined ? undefined : `its required argument ${required} would be missing`;
}

const renameOf = ({ standsFor }: ToolEntry) => (standsFor as StandsFor).rename;
const propertiesOf = ({ definition }: ToolEntry) => new Set(namesIn(definition, 'properties'));

function namesIn({ inputSchema }: JsonObject, key: 'properties' | 'required'): readonly string[] {
  const value = isObject(inputSchema) ? inputSchema[key] : undefined;
  if (Array.isArray(value)) return value.map(String);
  return isObject(value) ? Object.keys(value) : [];
}

const byName = (a: Member, b: Member) => (a.tool.name < b.tool.name ? -1 : 1);
