import type { Equivalent, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { StandsFor, ToolEntry } from './entry.ts';
import type { ServerTools } from './server-tools.ts';

/** One tool of one server of a pool. */
export interface Member {
  readonly part: ServerTools;
  readonly tool: ToolEntry;
}

export interface StandIns {
  readonly members: readonly Member[];
  /** By the server: how the same is asked for there. */
  readonly equivalents: ReadonlyMap<string, Equivalent>;
  /** Which of those that were configured cannot stand in, and why. */
  readonly problems: readonly string[];
}

/** Of the tools that are to do the work of another: those that can, one for each server. */
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

/** Why configuration asks for what cannot be. */
export const cannot = ({ part, tool }: Member, why: string): string =>
  `${part.server}.${tool.name} cannot stand in for ${tool.standsFor?.tool} in the pool ${part.pool}: ${why}.`;

/** Whether arguments for the one, renamed, can be arguments for the other. What they mean is for people to know. */
function misfit(original: ToolEntry, other: ToolEntry, rename: StandsFor['rename']): string | undefined {
  const [ours, theirs] = [propertiesOf(original), propertiesOf(other)];
  const renames = Object.entries(rename);
  const unknown = renames.find(([from]) => !ours.has(from))?.[0];
  if (unknown !== undefined) return `${original.shownAs} has no argument ${unknown}`;
  const missing = renames.find(([, to]) => !theirs.has(to))?.[1];
  if (missing !== undefined) return `it has no argument ${missing}`;
  const given = [...ours].map((name) => (Object.hasOwn(rename, name) ? rename[name] : name));
  if (new Set(given).size < given.length) return 'two arguments would have the same name';
  const required = namesIn(other.definition, 'required').find((name) => !given.includes(name));
  return required === undefined ? undefined : `nobody would give it its argument ${required}`;
}

const renameOf = ({ standsFor }: ToolEntry) => (standsFor as StandsFor).rename;
const propertiesOf = ({ definition }: ToolEntry) => new Set(namesIn(definition, 'properties'));

function namesIn({ inputSchema }: JsonObject, key: 'properties' | 'required'): readonly string[] {
  const value = isObject(inputSchema) ? inputSchema[key] : undefined;
  if (Array.isArray(value)) return value.map(String);
  return isObject(value) ? Object.keys(value) : [];
}

const byName = (a: Member, b: Member) => (a.tool.name < b.tool.name ? -1 : 1);
