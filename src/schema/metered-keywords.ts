import type { Ajv as AnyAjv, Code, KeywordCxt } from 'ajv';
import { isObject } from '../core/json.ts';
import { enumMatcher } from './enum-matcher.ts';
import type { StepBudget } from './step-budget.ts';

/** The parts of ajv that write code. */
export interface CodeWriting {
  readonly _: typeof import('ajv')._;
  readonly Name: typeof import('ajv').Name;
}

/** Meters of one schema: `checking` for each check, `compiling` for its compilation. */
export interface Meters {
  readonly checking: StepBudget;
  readonly compiling: StepBudget;
}

const STEPS_PER_REFERENCE = 3;
// Each branch that does not match adds an error. The first four are free, so that long lists of unions can be checked.
const UNIONS = new Set(['anyOf', 'oneOf']);
const CHEAP_BRANCHES = 4;
const REFERENCES = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
const OVER_ITEMS = new Set(['items', 'additionalItems', 'contains', 'unevaluatedItems']);
const OVER_KEYS = new Set([
  ...['patternProperties', 'additionalProperties', 'propertyNames', 'unevaluatedProperties'],
  ...['maxProperties', 'minProperties'],
]);
const OVER_TEXT = new Set(['maxLength', 'minLength']);
const MAPS = new Set([...['properties', 'patternProperties', 'dependentSchemas', 'dependentRequired', 'dependencies']]);
const VALUES = new Set(['const', 'enum']);
// Keywords that compile to one expression, which is copied for each name that is added to it.
const CHAINS = new Set(['dependentRequired', 'dependencies', 'unevaluatedProperties']);
// Keywords that copy the names of evaluated properties.
const IN_PLACE = new Set(['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'dependentSchemas', ...REFERENCES]);

/**
 * Makes each keyword count its work before it begins, so that keywords that fail are counted, too.
 * The compiled code calls `checking.take` with a count that grows with the schema and with the value.
 */
export function meterKeywords(ajv: AnyAjv, meters: Meters, writing: CodeWriting): void {
  const { rules: groups, post } = ajv.RULES;
  const written = new WeakMap<object, number>();
  for (const rule of [...groups, post].flatMap(({ rules }) => rules)) {
    const { definition } = rule;
    if (!('code' in definition)) continue;
    const code = VALUES.has(rule.keyword) ? valueCode(meters.checking, writing) : definition.code;
    rule.definition = {
      ...definition,
      code(context, type) {
        meters.compiling.take(compileStepsOf(context, written));
        writeCount(context, meters.checking, writing);
        code(context, type);
      },
    };
  }
}

/**
 * The work of compiling one keyword. Each list entry is nested within the one before it, and every name
 * is looked up through all levels: the work grows with the square of what one function contains.
 */
function compileStepsOf({ keyword, schema, gen, it }: KeywordCxt, written: WeakMap<object, number>): number {
  const entries = entriesOf(keyword, schema);
  const evaluated = it.opts.unevaluated ? evaluatedOf(it.props) : 0;
  const own = 1 + evaluated + (keyword === 'required' ? flatSteps(entries) : VALUES.has(keyword) ? 0 : entries);
  const all = own + (written.get(gen) ?? 0);
  written.set(gen, all);
  const chained = CHAINS.has(keyword) ? entries + evaluated : 0;
  return own * (1 + (all >> 7)) + (chained * chained) / 64;
}

/** Replaces the code of `enum` and `const`, which lists the keys of the input again for each allowed object. */
function valueCode(checking: StepBudget, { _ }: CodeWriting) {
  return (context: KeywordCxt) => {
    const { keyword, schema, gen, data } = context;
    if (keyword === 'enum' && schema.length === 0) throw new Error('enum must have non-empty array');
    const isAllowed = gen.scopeValue('func', { ref: enumMatcher(keyword === 'enum' ? schema : [schema], checking) });
    context.pass(_`${isAllowed}(${data})`);
  };
}

/** Lists of 200 names and more become a loop. */
const flatSteps = (entries: number) => (entries < 200 ? entries >> 3 : 1);

function writeCount(context: KeywordCxt, checking: StepBudget, writing: CodeWriting): void {
  const { _ } = writing;
  const budget = context.gen.scopeValue('obj', { ref: checking, key: checking });
  context.gen.code(_`${budget}.take(${stepsOf(context, writing)})`);
}

function stepsOf(context: KeywordCxt, { _, Name }: CodeWriting): Code {
  const { keyword, data, gen, it } = context;
  const keys = () => _`${gen.scopeValue('func', { ref: stepsOverKeys, key: stepsOverKeys })}(${data})`;
  let steps = _`${fixedSteps(context)}`;
  if (OVER_ITEMS.has(keyword)) steps = _`${steps} + ${data}.length`;
  // Each item that does not match adds errors.
  if (keyword === 'contains') steps = _`${steps} + ${data}.length * 4`;
  if (OVER_TEXT.has(keyword)) steps = _`${steps} + (${data}.length >> 3)`;
  if (OVER_KEYS.has(keyword)) steps = _`${steps} * ${keys()}`;
  if (it.opts.unevaluated && IN_PLACE.has(keyword)) steps = _`${steps} * ${keys()}`;
  // Following a reference copies the errors found so far.
  if (REFERENCES.has(keyword)) steps = _`${steps} + (${new Name('errors')} >> 4)`;
  // Each error and each reference writes out its path, in which the keys of the input are escaped anew.
  const path = Object.keys(it.errorPath.names).map((name) => _`(${new Name(name)}.length >> 6)`);
  return path.length === 0 ? steps : _`(${steps}) * (1 + ${path.reduce((sum, one) => _`${sum} + ${one}`)})`;
}

/** The work of a keyword that depends on the schema alone. */
function fixedSteps({ keyword, schema, parentSchema, it }: KeywordCxt): number {
  if (REFERENCES.has(keyword)) return STEPS_PER_REFERENCE;
  if (VALUES.has(keyword)) return 1; // The comparison counts its own work.
  if (keyword === 'additionalProperties') return 1 + entriesOf('patternProperties', parentSchema.patternProperties);
  if (keyword === 'unevaluatedProperties') return 1 + evaluatedOf(it.props);
  const entries = entriesOf(keyword, schema);
  return 1 + entries + (UNIONS.has(keyword) ? Math.max(0, entries - CHEAP_BRANCHES) : 0);
}

/** The schemas or values that a keyword lists; a single schema counts its own keywords. */
function entriesOf(keyword: string, schema: unknown): number {
  if (Array.isArray(schema)) return schema.length;
  if (!MAPS.has(keyword) || !isObject(schema)) return 0;
  return Object.values(schema).reduce<number>((sum, one) => sum + (Array.isArray(one) ? one.length : 1), 0);
}

/** The properties that are known as evaluated when the code is written. */
const evaluatedOf = (props: unknown) => (isObject(props) ? Object.keys(props).length : 0);

function stepsOverKeys(value: unknown): number {
  let steps = 1;
  if (!isObject(value)) return steps;
  for (const key in value) steps += 1 + (key.length >> 6);
  // Large objects are hash tables, and listing their keys takes several times as long.
  return steps > 1_000 ? steps * 8 : steps;
}
