import { createHash } from 'node:crypto';
import { UI_EXTENSION } from '../../core/call/extensions.ts';
import type { Facts, RateLimit } from '../../core/call/facts.ts';
import type { Equivalent, JsonObject, Target } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { uncheckedPatterns } from '../../schema/safe-pattern.ts';
import { isForAppsOnly } from '../views/tool-views.ts';
import { checkPrompt, checkTool } from './check-definition.ts';
import { isUnprintable, skeleton } from './confusable.ts';
import { distinctName, publicName } from './naming.ts';

/** A tool or a prompt of a server; both are named the same way. */
export interface ToolEntry {
  readonly kind: 'tool' | 'prompt';
  readonly name: string;
  /** The last part of the public name; differs from `name` if the configuration renames it. */
  readonly shownAs: string;
  readonly definition: JsonObject;
  readonly facts: Facts;
  /** The configured priority of its server. */
  readonly priority: number;
  /** The server lists different definitions under this name, so it is unknown which one it would run. */
  readonly contradicted: boolean;
  /** The client capability sets that may see this tool, as `capabilitiesKey` numbers. */
  readonly onlyFor?: ReadonlySet<number>;
  /** The tool of the pool that it replaces, if configured. */
  readonly standsFor?: StandsFor | undefined;
  /** For a tool of a pool: the equivalents at servers that name it differently. */
  readonly equivalents?: ReadonlyMap<string, Equivalent>;
  /** For a tool of a pool: its definition at each server, in order of preference. */
  readonly definitions?: readonly JsonObject[];
  /** For a tool of a pool: its rate limit at each server. */
  readonly rateLimits?: ReadonlyMap<string, RateLimit>;
}

export interface StandsFor {
  readonly tool: string;
  readonly rename: Readonly<Record<string, string>>;
}

/** A tool or prompt in the catalog. The entry and its target are kept until the server changes. */
export interface CatalogEntry {
  /** The middle of the public name: a server or a pool. */
  readonly group: string;
  readonly servers: readonly [string, ...string[]];
  readonly tool: ToolEntry;
  /** The public name, unless it collides with another. */
  readonly name: string;
  /** The form `server.tool`. */
  readonly written: string;
  /** The skeletons of its names, for finding look-alikes. */
  readonly looks: readonly string[];
  /** Returns the target. It is the same object for the same name, flags and views, so that caches keyed by it stay valid. */
  as(name: string, flags: readonly string[], viewNames?: ReadonlyMap<string, string>): Target;
}

const contradictory = (kind: string) => `its server lists more than one ${kind} of this name, and they differ`;
const CHECKS = { tool: checkTool, prompt: checkPrompt };
const NO_FLAGS: readonly string[] = [];
const UNPRINTABLE: readonly string[] = ['unprintable'];
const entries = new WeakMap<Target, CatalogEntry>();

export function makeEntry({ group, servers, tool }: Pick<CatalogEntry, 'group' | 'servers' | 'tool'>): CatalogEntry {
  const plain = `mcp__${group}__${tool.shownAs}`;
  const name = publicName(group, tool.shownAs);
  const facets = lazily(tool);
  const always = isUnprintable(tool.shownAs) ? UNPRINTABLE : NO_FLAGS;
  let last: Target | undefined;
  const entry: CatalogEntry = {
    group,
    servers,
    tool,
    name,
    written: `${group}.${tool.shownAs}`,
    looks: looksOf(plain, name),
    as(publicName, found, viewNames) {
      const flags = found.length === 0 ? always : [...always, ...found];
      const isCurrent = last?.publicName === publicName && isSame(last.flags, flags);
      if (last && isCurrent && isSameMap(last.viewNames, viewNames)) return last;
      last = toTarget({ entry, publicName, flags, facets, viewNames });
      entries.set(last, entry);
      return last;
    },
  };
  return entry;
}

/** Returns the skeletons of the plain and the changed name; a look-alike may imitate either. */
function looksOf(plain: string, name: string): readonly string[] {
  const original = skeleton(plain);
  const changed = name === plain ? original : skeleton(name);
  return original === changed ? [original] : [original, changed];
}

const isSame = (some: readonly string[], others: readonly string[]) =>
  some === others || (some.length === others.length && some.every((flag, index) => flag === others[index]));

const isSameMap = (one: ReadonlyMap<string, string> | undefined, other: ReadonlyMap<string, string> | undefined) =>
  one === other || isSame([...(one ?? [])].flat(), [...(other ?? [])].flat());

/** Returns the server whose definition an entry shows. A pool shows that of one of its servers. */
export function shownServer({ servers, tool: { definition, definitions = [] } }: CatalogEntry): string {
  return servers[definitions.indexOf(definition)] ?? servers[0];
}

/** Returns the entry that a target was made from. */
export const catalogEntryOf = (target: Target): CatalogEntry => entries.get(target) as CatalogEntry;

/** Returns the name of an entry after `level` collisions. */
export function spelled({ group, servers, tool, name }: CatalogEntry, level: number): string {
  if (level === 0) return name;
  if (level === 1) return distinctName(group, tool.shownAs);
  return distinctName(group, tool.shownAs, tool.name, ...servers, String(level));
}

interface Facets {
  digest(): string;
  invalid(): string | undefined;
  uncheckedPatterns(): readonly string[];
}

/** Computes digest, validity and patterns on first use: most tools of a large catalog are never called. */
function lazily({ kind, definition, definitions = [], contradicted }: ToolEntry): Facets {
  let digest: string | undefined;
  let checked: { readonly invalid: string | undefined } | undefined;
  let unchecked: readonly string[] | undefined;
  return {
    digest() {
      digest ??= createHash('sha256').update(digested(definition, definitions)).digest('hex');
      return digest;
    },
    invalid() {
      checked ??= { invalid: contradicted ? contradictory(kind) : CHECKS[kind](definition) };
      return checked.invalid;
    },
    uncheckedPatterns() {
      const { inputSchema, outputSchema } = definition;
      unchecked ??= [...new Set([inputSchema, outputSchema].flatMap((schema) => uncheckedPatterns(schema)))];
      return unchecked;
    },
  };
}

/** Returns the text that the digest is of. Servers of a pool that differ each count: a call may reach any of them. */
function digested(definition: JsonObject, definitions: readonly JsonObject[]): string {
  const texts = new Set([definition, ...definitions].map((one) => canonicalJson(one)));
  return texts.size === 1 ? canonicalJson(definition) : JSON.stringify([...texts]);
}

interface TargetOptions {
  readonly entry: CatalogEntry;
  readonly publicName: string;
  readonly flags: readonly string[];
  readonly facets: Facets;
  readonly viewNames: ReadonlyMap<string, string> | undefined;
}

function toTarget({ entry: { group, servers, tool }, publicName, flags, facets, viewNames }: TargetOptions): Target {
  const isForApps = tool.kind === 'tool' && [tool.definition, ...(tool.definitions ?? [])].some(isForAppsOnly);
  return {
    kind: tool.kind,
    publicName,
    servers,
    name: tool.name,
    group,
    shownAs: tool.shownAs,
    definition: tool.definition,
    facts: tool.facts,
    flags,
    ...(tool.equivalents && { equivalents: tool.equivalents }),
    ...(tool.onlyFor && { onlyFor: tool.onlyFor }),
    ...(tool.rateLimits && { rateLimits: tool.rateLimits }),
    ...(isForApps && { extension: UI_EXTENSION }),
    ...(viewNames && { viewNames }),
    get digest() {
      return facets.digest();
    },
    get invalid() {
      return facets.invalid();
    },
    get uncheckedPatterns() {
      return facets.uncheckedPatterns();
    },
  };
}
