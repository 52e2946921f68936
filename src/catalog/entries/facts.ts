import { isDeepStrictEqual } from 'node:util';
import type { ServerEntry } from '../../config/schema/schema.ts';
import type { Facts, RateLimit, Taint } from '../../core/call/facts.ts';
import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** The configuration that determines the facts of a server's tools. */
export interface Owner {
  readonly entry: ServerEntry | undefined;
  readonly builtin: boolean;
  /** True if the entry is the organisation's, whose settings its own rules believe. */
  readonly isManaged?: boolean;
}

const RISKS = ['low', 'medium', 'high'] as const;
type Risk = (typeof RISKS)[number];
const ACCESS = ['network', 'fs:read', 'fs:write'] as const;
type ToolSettings = NonNullable<ServerEntry['tools'][string]>;
const DEFAULT_TIMEOUT_MS = 30_000;

/** Returns the configured settings of one tool of a server. */
export function settingsOf(entry: ServerEntry | undefined, tool: string): ToolSettings {
  return entry && Object.hasOwn(entry.tools, tool) ? (entry.tools[tool] ?? {}) : {};
}

/**
 * Determines the facts of a tool. Configuration wins over the server's annotations, and an untrusted server can only
 * make its tools stricter. An organisation's rules see the facts without settings of the user that make them milder.
 */
export function factsOf(definition: JsonObject, owner: Owner): Facts {
  const { entry, builtin, isManaged } = owner;
  const { facts: derived } = ownFieldsOf(definition);
  // A workflow, whose facts follow from those of its steps. Only Heddle itself may say so.
  if (builtin && isObject(derived)) return derived as unknown as Facts;
  const facts = configuredFacts(definition, owner);
  if (!entry || builtin || isManaged) return facts;
  const name = String(definition.name);
  if (!entry.trusted && !Object.hasOwn(entry.tools, name)) return facts;
  const asListed = configuredFacts(definition, { entry: { ...entry, trusted: false, tools: {} }, builtin });
  const forManagedRules = strictest([facts, asListed]);
  return isDeepStrictEqual(facts, forManagedRules) ? facts : { ...facts, forManagedRules };
}

function configuredFacts(definition: JsonObject, { entry, builtin }: Owner): Facts {
  const trusted = builtin || entry?.trusted === true;
  const set = settingsOf(entry, String(definition.name));
  const hints = object(definition.annotations);
  const own = ownFieldsOf(definition);

  const readOnly = set.readOnly ?? (trusted && oneIsTrue(hints.readOnlyHint, hints.readOnly));
  const destructive = !readOnly && oneIsTrue(hints.destructiveHint, hints.destructive);
  return {
    ...categoryOf(set.category ?? (trusted ? text(own.category) : undefined) ?? entry?.category, own),
    riskLevel: set.riskLevel ?? ownRisk(own.riskLevel, derivedRisk(readOnly, destructive), trusted),
    readOnly,
    destructive,
    idempotent: set.idempotent ?? (trusted && oneIsTrue(own.idempotent, hints.idempotentHint)),
    concurrent: readOnly || (trusted && hints.safeToRunConcurrently === true),
    openWorld: !trusted || hints.openWorldHint !== false,
    requiresApproval: set.requiresApproval ?? own.requiresApproval === true,
    builtin,
    ...(builtin && own.approval === 'always' && { approval: 'always' as const }),
    ...defined(declaredFacts(set, own, { entry, builtin })),
  };
}

/** Returns the fields with which a definition describes its tool to Heddle. */
const ownFieldsOf = ({ _meta, harness }: JsonObject): JsonObject => object(object(_meta)['dev.heddle/tool'] ?? harness);

/** Returns the category. One that only an untrusted server claims is shown, and matches no rule. */
function categoryOf(set: string | undefined, own: JsonObject): Pick<Facts, 'category' | 'isCategoryClaimed'> {
  const claimed = text(own.category);
  if (set !== undefined || claimed === undefined) return { category: set ?? 'uncategorized' };
  return { category: claimed, isCategoryClaimed: true };
}

/** Returns the facts that have no default. */
const declaredFacts = (set: ToolSettings, own: JsonObject, { entry, builtin }: Owner) => ({
  timeoutMs:
    set.timeoutMs ?? ownTimeout(own.timeout, builtin || entry?.trusted === true, entry?.timeoutMs) ?? entry?.timeoutMs,
  rateLimit: set.rateLimit ?? ownRateLimit(own.rateLimit),
  hedgeAfterMs: set.hedgeAfterMs,
  // A caller shares one budget over all servers: an untrusted one must not use it up.
  costPerCall: set.costPerCall ?? (builtin || entry?.trusted === true ? ownCost(own.costPerCall) : undefined),
  requires: set.requires ?? ownRequires(own.requires),
  taints: taintsOf(entry, set),
});

/** Returns the facts of resources and prompts, which are read-only in MCP. */
export function readingFacts({ entry, builtin }: Owner): Facts {
  return {
    category: entry?.category ?? 'uncategorized',
    riskLevel: 'low',
    readOnly: true,
    destructive: false,
    idempotent: true,
    concurrent: true,
    openWorld: !builtin,
    requiresApproval: false,
    builtin,
    ...defined({ timeoutMs: entry?.timeoutMs, taints: entry?.taints }),
  };
}

/** Returns the strictest value of each fact over the tools of a pool. */
export function strictest(all: readonly [Facts, ...Facts[]]): Facts {
  const [first] = all;
  const timeouts = all.flatMap(({ timeoutMs }) => timeoutMs ?? []);
  const rates = all.flatMap(({ rateLimit }) => rateLimit ?? []);
  const hedges = all.flatMap(({ hedgeAfterMs }) => hedgeAfterMs ?? []);
  const costs = all.flatMap(({ costPerCall }) => costPerCall ?? []);
  const requires = [...new Set(all.flatMap((facts) => facts.requires ?? []))];
  const taints = [...new Set(all.flatMap((facts) => facts.taints ?? []))];
  return {
    ...first,
    ...(all.some(({ isCategoryClaimed }) => isCategoryClaimed) && { isCategoryClaimed: true as const }),
    ...(timeouts.length > 0 && { timeoutMs: Math.min(...timeouts) }),
    ...(rates.length > 0 && { rateLimit: rates.reduce(slower) }),
    ...(hedges.length > 0 && { hedgeAfterMs: Math.max(...hedges) }),
    ...(costs.length > 0 && { costPerCall: Math.max(...costs) }),
    ...(requires.length > 0 && { requires }),
    ...(taints.length > 0 && { taints }),
    ...managedFacts(all),
    ...(all.some(({ approval }) => approval === 'always') && { approval: 'always' as const }),
    riskLevel: all.map(({ riskLevel }) => riskLevel).reduce(stricterRisk),
    readOnly: all.every(({ readOnly }) => readOnly),
    destructive: all.some(({ destructive }) => destructive),
    idempotent: all.every(({ idempotent }) => idempotent),
    concurrent: all.every(({ concurrent }) => concurrent),
    openWorld: all.some(({ openWorld }) => openWorld),
    requiresApproval: all.some(({ requiresApproval }) => requiresApproval),
    builtin: all.every(({ builtin }) => builtin),
  };
}

function managedFacts(all: readonly [Facts, ...Facts[]]): Pick<Facts, 'forManagedRules'> {
  if (!all.some(({ forManagedRules }) => forManagedRules)) return {};
  const [first, ...rest] = all.map((facts) => facts.forManagedRules ?? facts);
  return first ? { forManagedRules: strictest([first, ...rest]) } : {};
}

function ownRisk(claimed: unknown, derived: Risk, trusted: boolean): Risk {
  const risk = RISKS.find((one) => one === claimed);
  if (!risk) return derived;
  return trusted ? risk : stricterRisk(risk, derived);
}

const derivedRisk = (readOnly: boolean, destructive: boolean): Risk =>
  destructive ? 'high' : readOnly ? 'low' : 'medium';

const stricterRisk = (one: Risk, other: Risk): Risk => (RISKS.indexOf(one) > RISKS.indexOf(other) ? one : other);

const slower = (one: RateLimit, other: RateLimit): RateLimit =>
  one.maxCalls / one.windowMs <= other.maxCalls / other.windowMs ? one : other;

function ownTimeout(claimed: unknown, trusted: boolean, serverMs = DEFAULT_TIMEOUT_MS): number | undefined {
  if (typeof claimed !== 'number' || !(claimed > 0)) return undefined;
  return trusted ? claimed : Math.min(claimed, serverMs);
}

const ownCost = (claimed: unknown): number | undefined =>
  typeof claimed === 'number' && Number.isFinite(claimed) && claimed >= 0 ? claimed : undefined;

function ownRequires(claimed: unknown): readonly string[] | undefined {
  const known = Array.isArray(claimed) ? ACCESS.filter((one) => claimed.includes(one)) : [];
  return known.length > 0 ? known : undefined;
}

/** Combines the labels of the server and of the tool. */
function taintsOf(entry: ServerEntry | undefined, { taints: own = [] }: ToolSettings): readonly Taint[] | undefined {
  const all = [...new Set([...(entry?.taints ?? []), ...own])];
  return all.length > 0 ? all : undefined;
}

function ownRateLimit(claimed: unknown): RateLimit | undefined {
  const { maxCalls, windowMs } = object(claimed);
  const valid = typeof maxCalls === 'number' && typeof windowMs === 'number' && maxCalls > 0 && windowMs > 0;
  return valid ? { maxCalls, windowMs } : undefined;
}

const defined = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
const oneIsTrue = (...claims: unknown[]) => claims.includes(true);
const object = (value: unknown): JsonObject => (isObject(value) ? value : {});
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
