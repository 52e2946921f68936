import { createHash } from 'node:crypto';
import type { Facts, JsonObject, Target } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import { checkTool } from './check-tool.ts';
import { isUnprintable, skeleton } from './confusable.ts';
import { distinctName, publicName } from './naming.ts';

export interface Tool {
  readonly name: string;
  /** The last part of the public name; another than `name` where configuration renames it. */
  readonly shownAs: string;
  readonly definition: JsonObject;
  readonly facts: Facts;
  /** The server lists other tools of this name, too, and nobody can know which of them it will run. */
  readonly contradicted: boolean;
}

/** A tool in one place of the catalog. Kept as long as its server does not change, and its target with it. */
export interface Offer {
  /** The middle of the public name: a server or a pool. */
  readonly group: string;
  readonly servers: readonly [string, ...string[]];
  readonly tool: Tool;
  /** Its public name unless it meets another. */
  readonly name: string;
  /** As a person writes it. */
  readonly written: string;
  /** What it looks like at a glance. */
  readonly looks: readonly string[];
  /** The same object for the same name and flags: what others remember of a target stays good. */
  as(name: string, flags: readonly string[]): Target;
}

const CONTRADICTED = 'its server lists more than one tool of this name, and they differ';
const NO_FLAGS: readonly string[] = [];
const UNPRINTABLE: readonly string[] = ['unprintable'];
const offers = new WeakMap<Target, Offer>();

export function makeOffer({ group, servers, tool }: Pick<Offer, 'group' | 'servers' | 'tool'>): Offer {
  const plain = `mcp__${group}__${tool.shownAs}`;
  const name = publicName(group, tool.shownAs);
  const facets = lazily(tool);
  const always = isUnprintable(tool.shownAs) ? UNPRINTABLE : NO_FLAGS;
  let last: Target | undefined;
  const offer: Offer = {
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
export const offerOf = (target: Target): Offer => offers.get(target) as Offer;

/** How an offer is named after it has met others `level` times. */
export function spelled({ group, servers, tool, name }: Offer, level: number): string {
  if (level === 0) return name;
  if (level === 1) return distinctName(group, tool.shownAs);
  return distinctName(group, tool.shownAs, tool.name, ...servers, String(level));
}

interface Facets {
  digest(): string;
  invalid(): string | undefined;
}

/** Worked out when first asked for: most tools of a large catalog are never called. */
function lazily({ definition, contradicted }: Tool): Facets {
  let digest: string | undefined;
  let checked: { readonly invalid: string | undefined } | undefined;
  return {
    digest() {
      digest ??= createHash('sha256').update(canonicalJson(definition)).digest('hex');
      return digest;
    },
    invalid() {
      checked ??= { invalid: contradicted ? CONTRADICTED : checkTool(definition) };
      return checked.invalid;
    },
  };
}

interface Making {
  readonly offer: Offer;
  readonly publicName: string;
  readonly flags: readonly string[];
  readonly facets: Facets;
}

function toTarget({ offer: { servers, tool }, publicName, flags, facets }: Making): Target {
  return {
    publicName,
    servers,
    name: tool.name,
    definition: tool.definition,
    facts: tool.facts,
    flags,
    get digest() {
      return facets.digest();
    },
    get invalid() {
      return facets.invalid();
    },
  };
}
