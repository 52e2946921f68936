import { createHash } from 'node:crypto';
import type { Equivalent, Facts, JsonObject, RateLimit, Target } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { checkPrompt, checkTool } from './check-definition.ts';
import { isUnprintable, skeleton } from './confusable.ts';
import { distinctName, publicName } from './naming.ts';

/** A tool, or a prompt, which is named the same way. */
export interface ToolEntry {
  readonly kind: 'tool' | 'prompt';
  readonly name: string;
  /** The last part of the public name; another than `name` where configuration renames it. */
  readonly shownAs: string;
  readonly definition: JsonObject;
  readonly facts: Facts;
  /** The server lists other tools of this name, too, and nobody can know which of them it will run. */
  readonly contradicted: boolean;
  /** Its server shows it only to those who can be asked this, as `abilitiesKey` says it. */
  readonly onlyFor?: ReadonlySet<number>;
  /** Which tool of the pool it does the work of, where configuration says so. */
  readonly standsFor?: StandsFor | undefined;
  /** Of a pool's tool: the servers that know it otherwise. */
  readonly equivalents?: ReadonlyMap<string, Equivalent>;
  /** Of a pool's tool: what limits it at each server. */
  readonly rateLimits?: ReadonlyMap<string, RateLimit>;
}

export interface StandsFor {
  readonly tool: string;
  readonly rename: Readonly<Record<string, string>>;
}

/** A tool in one place of the catalog. Kept as long as its server does not change, and its target with it. */
export interface CatalogEntry {
  /** The middle of the public name: a server or a pool. */
  readonly group: string;
  readonly servers: readonly [string, ...string[]];
  readonly tool: ToolEntry;
  /** Its public name unless it meets another. */
  readonly name: string;
  /** As a person writes it. */
  readonly written: string;
  /** What it looks like at a glance. */
  readonly looks: readonly string[];
  /** The same object for the same name and flags: what others remember of a target stays good. */
  as(name: string, flags: readonly string[]): Target;
}

const contradictory = (kind: string) => `its server lists more than one ${kind} of this name, and they differ`;
const CHECKS = { tool: checkTool, prompt: checkPrompt };
const NO_FLAGS: readonly string[] = [];
const UNPRINTABLE: readonly string[] = ['unprintable'];
const offers = new WeakMap<Target, CatalogEntry>();

export function makeEntry({ group, servers, tool }: Pick<CatalogEntry, 'group' | 'servers' | 'tool'>): CatalogEntry {
  const plain = `mcp__${group}__${tool.shownAs}`;
  const name = publicName(group, tool.shownAs);
  const facets = lazily(tool);
  const always = isUnprintable(tool.shownAs) ? UNPRINTABLE : NO_FLAGS;
  let last: Target | undefined;
  const offer: CatalogEntry = {
    group,
    servers,
    tool,
    name,
    written: `${group}.${tool.shownAs}`,
    looks: looksOf(plain, name),
    as(publicName, found) {
      const flags = found.length === 0 ? always : [...always, ...found];
      if (last?.publicName === publicName && isSame(last.flags, flags)) return last;
      last = toTarget({ offer, publicName, flags, facets });
      offers.set(last, offer);
      return last;
    },
  };
  return offer;
}

/** A name that had to be changed can be mistaken for what it was and for what it became. */
function looksOf(plain: string, name: string): readonly string[] {
  const look = skeleton(plain);
  const changed = name === plain ? look : skeleton(name);
  return look === changed ? [look] : [look, changed];
}

const isSame = (some: readonly string[], others: readonly string[]) =>
  some === others || (some.length === others.length && some.every((flag, index) => flag === others[index]));

/** The offer that a target was made from. */
export const catalogEntryOf = (target: Target): CatalogEntry => offers.get(target) as CatalogEntry;

/** How an offer is named after it has met others `level` times. */
export function spelled({ group, servers, tool, name }: CatalogEntry, level: number): string {
  if (level === 0) return name;
  if (level === 1) return distinctName(group, tool.shownAs);
  return distinctName(group, tool.shownAs, tool.name, ...servers, String(level));
}

interface Facets {
  digest(): string;
  invalid(): string | undefined;
}

/** Worked out when first asked for: most tools of a large catalog are never called. */
function lazily({ kind, definition, contradicted }: ToolEntry): Facets {
  let digest: string | undefined;
  let checked: { readonly invalid: string | undefined } | undefined;
  return {
    digest() {
      digest ??= createHash('sha256').update(canonicalJson(definition)).digest('hex');
      return digest;
    },
    invalid() {
      checked ??= { invalid: contradicted ? contradictory(kind) : CHECKS[kind](definition) };
      return checked.invalid;
    },
  };
}

interface Making {
  readonly offer: CatalogEntry;
  readonly publicName: string;
  readonly flags: readonly string[];
  readonly facets: Facets;
}

function toTarget({ offer: { group, servers, tool }, publicName, flags, facets }: Making): Target {
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
    get digest() {
      return facets.digest();
    },
    get invalid() {
      return facets.invalid();
    },
  };
}
