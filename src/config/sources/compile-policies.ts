import type { Condition } from '../../cel/condition.ts';
import type { Config, LoadedPolicy, Problem, SourceLocation } from '../config.ts';
import type { Layer } from '../read/layer.ts';
import type { LayerPolicy } from '../read/layer-policies.ts';
import { STRICT_NOTICE, strictAt, strictFiles } from '../read/strict-by-error.ts';
import type { Settings } from '../schema/schema.ts';

export const MAX_POLICIES = 10_000;
/** Instructions of all literal patterns together. Compiling them takes about one second. */
const MAX_PATTERN_INSTRUCTIONS = 100_000;
const GUARD_FIX = 'Add `tools`, or test with `has(args.name)` first.';

/** The rules in force, and the layer that sets mode strict if a rule is invalid. */
export interface CompiledPolicies extends Pick<Config, 'policies' | 'conditions' | 'onlyManagedAllow'> {
  readonly problems: readonly Problem[];
  readonly strict: readonly Layer[];
}

type Remembered = Map<string, readonly LoadedPolicy[]>;
type Compile = (
  source: string,
) => Condition | { readonly message: string; readonly fix: string; readonly offset: number };

export interface CompileOptions {
  /** By file: the rules of its last valid version. */
  readonly remembered: Remembered | undefined;
  /** True if only the organisation may have servers: then only its rules may allow. */
  readonly isExclusive: boolean;
}

/** A rule with the layer that it comes from. */
interface ScopedPolicy extends LayerPolicy {
  readonly scope: Layer['scope'];
}

/**
 * Compiles the conditions of all layers and removes the rules that must not count. An invalid rule sets mode strict; the
 * last valid rules of its file, if remembered, stay in force.
 */
export async function compilePolicies(
  layers: readonly Layer[],
  { remembered, isExclusive }: CompileOptions,
): Promise<CompiledPolicies> {
  // The rules of an untrusted project come last: they are cut first if there are too many.
  const ordered = layers.toSorted((a, b) => Number(a.needsTrust ?? false) - Number(b.needsTrust ?? false));
  const all = ordered.flatMap(policiesOf);
  const approvalRules = layers.flatMap(approvalRulesOf);
  if (all.length === 0 && approvalRules.length === 0 && !remembered?.size) return { problems: [], strict: [] };
  const onlyManagedAllow = isExclusive || all.some(({ scope }) => scope === 'enterprise');
  const isIgnored = ({ rule, scope }: ScopedPolicy) =>
    onlyManagedAllow && scope !== 'enterprise' && rule.effect === 'allow' && !rule.shadow;
  const counted = all.filter((one) => !isIgnored(one));
  const rulesOf = (layer: Layer) => [...policiesOf(layer).filter((one) => !isIgnored(one)), ...approvalRulesOf(layer)];
  const sources = ordered.flatMap(rulesOf).flatMap(({ rule }) => rule.when ?? []);
  const compile = sources.length > 0 ? await compiler(sources) : undefined;

  const compiled = counted.map((one) => compileRule(one, compile));
  const errors = [
    ...compiled.flatMap((one) => ('message' in one ? one : [])),
    ...duplicates(counted),
    ...surplus(counted),
  ];
  const valid = compiled.flatMap((one) => ('message' in one ? [] : one)).slice(0, MAX_POLICIES);
  const { conditions, problems } = compileApprovalRules(approvalRules, compile);
  const strict = strictLayers(errors);
  const broken = new Set([...layers, ...strict].flatMap(strictFiles));
  return {
    policies: [...valid, ...lastValid(valid, broken, remembered)],
    conditions,
    onlyManagedAllow,
    problems: [
      ...errors,
      ...counted.flatMap((one) => textTests('policy', one, compile)),
      ...problems,
      ...all.filter(isIgnored).map(ignoredAllow),
    ],
    strict,
  };
}

const policiesOf = ({ scope, policies = [] }: Layer): readonly ScopedPolicy[] =>
  policies.map((one) => ({ ...one, scope }));

/** Compiles conditions in this order, with one limit for the patterns of all: later layers must not use up that of earlier ones. */
async function compiler(sources: readonly string[]): Promise<Compile> {
  const { compileExpression } = await import('../../cel/compile-expression.ts');
  const budget = { left: MAX_PATTERN_INSTRUCTIONS };
  const compiled = new Map<string, ReturnType<Compile>>();
  for (const source of new Set(sources)) compiled.set(source, compileExpression(source, budget));
  return (source) => compiled.get(source) ?? compileExpression(source, budget);
}

function compileRule(
  { rule, at, scope, inCondition }: ScopedPolicy,
  compile: Compile | undefined,
): LoadedPolicy | Problem {
  if (rule.when === undefined || !compile) return { ...rule, scope, at };
  const condition = compile(rule.when);
  if (!('evaluate' in condition)) {
    const message = `\`when\` of the policy ${rule.name} is not valid: ${condition.message}.`;
    return invalid(message, condition.fix, inCondition(condition.offset));
  }
  if (condition.unguardedAt === undefined || rule.tools !== undefined) return { ...rule, scope, at, condition };
  const message = `\`when\` of the policy ${rule.name} reads an argument, and the rule has no \`tools\`: it would deny every other tool.`;
  return invalid(message, GUARD_FIX, inCondition(condition.unguardedAt));
}

const invalid = (message: string, fix: string, at: SourceLocation): Problem => ({
  level: 'error',
  code: 'CONFIG_INVALID',
  message: `${message} ${STRICT_NOTICE}`,
  fix,
  at,
});

/** Reports names that are used twice. Both rules count: neither file can put the rule of the other out of force. */
const duplicates = (rules: readonly ScopedPolicy[]): readonly Problem[] =>
  sameNames(rules).map(({ name, earlier, at }) => {
    const message = `The name ${name} of a policy is used twice, first at ${earlier.file}:${earlier.line}.`;
    return invalid(message, 'Rename one of the two.', at);
  });

interface NamedRule {
  readonly rule: { readonly name: string };
  readonly at: SourceLocation;
}

/** Finds the rules whose name an earlier rule has. */
function sameNames(rules: readonly NamedRule[]) {
  const seen = new Map<string, SourceLocation>();
  return rules.flatMap(({ rule: { name }, at }) => {
    const earlier = seen.get(name);
    if (earlier) return [{ name, earlier, at }];
    seen.set(name, at);
    return [];
  });
}

function surplus(rules: readonly ScopedPolicy[]): readonly Problem[] {
  const first = rules[MAX_POLICIES];
  if (!first) return [];
  const message = `There are ${rules.length} policies; those after the first ${MAX_POLICIES} do not count.`;
  return [invalid(message, 'Combine rules by `tools` or `when`.', first.at)];
}

/** Returns a layer that sets mode strict for each file with an error. */
function strictLayers(errors: readonly Problem[]): readonly Layer[] {
  const byFile = new Map(errors.flatMap(({ at }) => (at ? [[at.file, at] as const] : [])));
  const nothing = { scope: 'config', servers: [], connectors: [], problems: [] } as const;
  return [...byFile.values()].map((at) => ({
    ...nothing,
    settings: [strictAt(at)],
  }));
}

/** Remembers the rules of valid files, and returns the remembered ones of invalid files that are missing now. */
function lastValid(
  valid: readonly LoadedPolicy[],
  broken: ReadonlySet<string>,
  remembered: Remembered | undefined,
): readonly LoadedPolicy[] {
  if (!remembered) return [];
  const byFile = Map.groupBy(valid, ({ at }) => at.file);
  const keyOf = ({ at, name }: LoadedPolicy) => JSON.stringify([at.file, name]);
  const present = new Set(valid.map(keyOf));
  for (const file of remembered.keys()) if (!broken.has(file)) remembered.delete(file);
  for (const [file, rules] of byFile) if (!broken.has(file)) remembered.set(file, rules);
  return [...broken].flatMap((file) => remembered.get(file) ?? []).filter((one) => !present.has(keyOf(one)));
}

/** An approval rule with its place. */
interface PlacedApprovalRule {
  readonly rule: Settings['approvals']['rules'][number];
  readonly at: SourceLocation;
  readonly inCondition: (offset: number) => SourceLocation;
}

function approvalRulesOf({ settings }: Layer): readonly PlacedApprovalRule[] {
  const found = settings.filter(({ path }) => path.join('.') === 'approvals.rules');
  return found.flatMap(({ value, at, locate = () => () => at }) =>
    (value as unknown as Settings['approvals']['rules']).map((rule, index) => ({
      rule,
      at: locate([index])(0),
      inCondition: locate([index, 'when'], rule.when),
    })),
  );
}

/** Compiles the conditions of approval rules. Calls that meet an invalid one are refused. */
function compileApprovalRules(rules: readonly PlacedApprovalRule[], compile: Compile | undefined) {
  const conditions = new Map<string, Condition>();
  const problems: Problem[] = sameNames(rules).map(({ name, earlier, at }) => ({
    ...{ level: 'error', code: 'CONFIG_INVALID', fix: 'Rename one of the two.', at },
    message: `The name ${name} of an approval rule is used twice, first at ${earlier.file}:${earlier.line}. Both count.`,
  }));
  for (const one of rules) {
    const { rule, inCondition } = one;
    problems.push(...textTests('approval rule', one, compile));
    const condition = rule.when === undefined ? undefined : compile?.(rule.when);
    if (!condition || rule.when === undefined) continue;
    if ('evaluate' in condition) {
      conditions.set(rule.when, condition);
      if (condition.unguardedAt !== undefined && rule.tools === undefined)
        problems.push(unguarded(rule, inCondition(condition.unguardedAt)));
    } else {
      const message = `\`when\` of the approval rule ${rule.name} is not valid: ${condition.message}. Calls that meet the rule are refused.`;
      problems.push({
        level: 'error',
        code: 'CONFIG_INVALID',
        message,
        fix: condition.fix,
        at: inCondition(condition.offset),
      });
    }
  }
  return { conditions, problems };
}

const unguarded = ({ name }: PlacedApprovalRule['rule'], at: SourceLocation): Problem => ({
  level: 'error',
  code: 'CONFIG_INVALID',
  message: `\`when\` of the approval rule ${name} reads an argument, and the rule has no \`tools\`: other calls that need an approval are refused.`,
  fix: GUARD_FIX,
  at,
});

type PlacedRule = Pick<ScopedPolicy | PlacedApprovalRule, 'rule' | 'inCondition'>;

/** Warns of tests of a path or a host as text: the rule counts, and misses other spellings. */
function textTests(kind: string, { rule, inCondition }: PlacedRule, compile: Compile | undefined): readonly Problem[] {
  const condition = rule.when === undefined ? undefined : compile?.(rule.when);
  const warnings = condition && 'evaluate' in condition ? condition.warnings : [];
  return warnings.map(({ message, fix, offset }) => ({
    ...{ level: 'warn', code: 'CONFIG_INVALID', fix, at: inCondition(offset) },
    message: `\`when\` of the ${kind} ${rule.name} may miss: ${message}.`,
  }));
}

function ignoredAllow({ rule, at }: ScopedPolicy): Problem {
  const message = `The policy ${rule.name} has no effect: this machine has managed policies, and only those may allow calls.`;
  const fix = 'Remove it, or ask the administrator of this machine.';
  return { level: 'warn', code: 'CONFIG_INVALID', message, fix, at };
}
