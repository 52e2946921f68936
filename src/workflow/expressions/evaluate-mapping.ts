import { STEPS } from '../../cel/scope-reads.ts';
import { compileValueExpression, type ValueBudget, type ValueExpression } from '../../cel/value-expression.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import type { Mapping, Reference, StepCondition, Workflow } from '../definition/canonical.ts';
import type { RunScope } from './run-scope.ts';
import { isSkippedView } from './step-view.ts';
import { expressionFailed, findValue, isExpressionFailure, valueAtReference } from './value-at-reference.ts';

const MAX_SHOWN_CHARS = 80;
const MAX_TEXT_CHARS = 1024 * 1024;
/** The limits of all expressions of a mapping: about 200 ms. */
const MAX_STEPS = 1_000_000;
const MAX_BYTES = 8 * 1024 * 1024;
/** The most characters of all values that the references of a mapping pass on. */
const MAX_PASSED_CHARS = 16 * 1024 * 1024;
const NUMBERS = /^-?\d/;

/**
 * Evaluates a mapping. References pass values unchanged. Throws EXPRESSION_FAILED, which names the field. In the classic form
 * a field whose reference has no value is left out, and an item is null.
 */
export function evaluateMapping(mapping: Mapping, scope: RunScope, form: Workflow['form'] = 'rich'): Json {
  return evaluate(mapping, { ...open(scope), isLenient: form === 'classic' }, '');
}

/** The values of one evaluation, and the work that is left for all its expressions. */
interface Evaluation {
  readonly scope: RunScope;
  readonly budget: ValueBudget;
  /** The characters that are left for the values of references. */
  passed: number;
  readonly isLenient?: boolean;
}

const open = (scope: RunScope): Evaluation => ({
  scope,
  budget: { steps: MAX_STEPS, bytes: MAX_BYTES },
  passed: MAX_PASSED_CHARS,
});

function evaluate(mapping: Mapping, evaluation: Evaluation, field: string): Json {
  if ('object' in mapping) {
    const entries = Object.entries(mapping.object).flatMap(([key, item]) =>
      isLeftOut(item, evaluation) ? [] : [[key, evaluate(item, evaluation, field === '' ? key : `${field}.${key}`)]],
    );
    return Object.fromEntries(entries);
  }
  if ('list' in mapping) {
    return mapping.list.map((item, at) =>
      isLeftOut(item, evaluation) ? null : evaluate(item, evaluation, `${field}[${at}]`),
    );
  }
  try {
    return evaluateLeaf(mapping, evaluation);
  } catch (thrown) {
    throw field === '' ? thrown : inField(thrown, field);
  }
}

const isLeftOut = (mapping: Mapping, { scope, isLenient }: Evaluation): boolean =>
  isLenient === true && 'ref' in mapping && findValue(mapping.ref, scope) === undefined;

type Leaf = Exclude<Mapping, { readonly object: unknown } | { readonly list: unknown }>;

function evaluateLeaf(mapping: Leaf, evaluation: Evaluation): Json {
  if ('value' in mapping) return mapping.value;
  if ('ref' in mapping) return passOn(valueAtReference(mapping.ref, evaluation.scope), mapping.ref, evaluation);
  if ('cel' in mapping) return evaluateCel(mapping.cel, evaluation);
  return evaluateTemplate(mapping.template, evaluation);
}

/** Counts a value that a reference passes on. A mapping may name one large value many times. */
function passOn(value: Json, { text }: Reference, evaluation: Evaluation): Json {
  evaluation.passed -= charsOf(value, evaluation.passed);
  if (evaluation.passed >= 0) return value;
  throw expressionFailed(
    `With \`${text}\` the values are larger than ${MAX_PASSED_CHARS} characters together`,
    'Pass fewer values, or only the parts that the tool needs.',
  );
}

/** Returns about the number of characters of a value as JSON; counting ends above `most`. */
export function charsOf(value: Json, most: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 4;
  let chars = 2;
  for (const key in value) {
    if (chars > most) break;
    chars += key.length + 4 + charsOf((value as JsonObject)[key] ?? null, most - chars);
  }
  return chars;
}

function evaluateTemplate(
  parts: Extract<Mapping, { readonly template: unknown }>['template'],
  evaluation: Evaluation,
): string {
  let text = '';
  for (const part of parts) {
    text += typeof part === 'string' ? part : toText(evaluateCel(part.cel, evaluation));
    if (text.length > MAX_TEXT_CHARS) {
      throw expressionFailed(
        `The text is longer than ${MAX_TEXT_CHARS} characters`,
        'Pass the values as fields of their own.',
      );
    }
  }
  return text;
}

const toText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

function inField(thrown: unknown, field: string): unknown {
  if (!HeddleError.is(thrown)) return thrown;
  const { message, fix } = thrown;
  const shown = cutAndEscapeBreaks(field, MAX_SHOWN_CHARS);
  return new HeddleError('EXPRESSION_FAILED', `In \`${shown}\`: ${message}`, { fix, details: { field: shown } });
}

/**
 * Evaluates a condition. Throws EXPRESSION_FAILED if it has no value, or CEL has one that is not true or false. In the classic
 * form a condition without a value is false if it reads a skipped step.
 */
export function evaluateCondition(condition: StepCondition, scope: RunScope, form: Workflow['form'] = 'rich'): boolean {
  if ('truthy' in condition) return isTruthy(condition.truthy, scope);
  try {
    return holds(condition, scope);
  } catch (thrown) {
    if (form === 'classic' && isExpressionFailure(thrown) && readsSkippedStep(condition, scope)) return false;
    throw thrown;
  }
}

const readsSkippedStep = (condition: StepCondition, scope: RunScope): boolean =>
  [...namesIn(condition)].some((name) => isSkippedView(scope.get(name)));

function holds(condition: { readonly cel: string }, scope: RunScope): boolean {
  const value = evaluateCel(condition.cel, open(scope));
  if (typeof value === 'boolean') return value;
  throw expressionFailed(
    `${shownSource(condition.cel)} is not true or false`,
    'Compare the value: `== true`, `!= ""`, `> 0`.',
  );
}

/** A reference without a value is false, as JavaScript's undefined. */
const isTruthy = (mapping: Mapping, scope: RunScope): boolean =>
  Boolean('ref' in mapping ? findValue(mapping.ref, scope) : evaluateMapping(mapping, scope));

function evaluateCel(source: string, { scope, budget }: Evaluation): Json {
  const expression = compiled(source);
  const result = expression.evaluate(valuesOf(expression, scope), budget);
  if ('value' in result) return result.value;
  const [name, ...parts] = result.missing ?? [];
  // The reference has the same problem, and its error names the nearest match.
  if (typeof name === 'string') valueAtReference({ name, parts, text: textOf(name, parts) }, scope);
  throw expressionFailed(`${shownSource(source)} has no value: ${result.failure}`, 'Correct the expression.');
}

function compiled(source: string): ValueExpression {
  const expression = compileValueExpression(source);
  if ('evaluate' in expression) return expression;
  throw expressionFailed(`${shownSource(source)} is not an expression: ${expression.message}`, expression.fix);
}

/** Returns the values that an expression reads. A skipped step has no `result`, so that `.?result` is empty. */
function valuesOf({ reads }: ValueExpression, scope: RunScope): Readonly<Record<string, Json>> {
  const found = new Map<string, Json>();
  for (const { name } of reads) {
    const value = scope.get(name);
    if (value !== undefined) found.set(name, isSkippedView(value) ? withoutResult(value) : value);
  }
  const steps = scope.get(STEPS) ?? Object.fromEntries(found);
  return { [STEPS]: steps, ...Object.fromEntries(found) };
}

function withoutResult({ result: _result, ...rest }: JsonObject): Json {
  return rest;
}

function textOf(name: string, parts: Reference['parts']): string {
  return `$${name}${parts.map((part) => (NUMBERS.test(String(part)) ? `[${part}]` : `.${part}`)).join('')}`;
}

/** Writes an expression as in the source of a workflow. */
const shownSource = (source: string): string =>
  `\`${cutAndEscapeBreaks(source.replace(/scope\["([\w-]+)"\]/g, '$$$1'), MAX_SHOWN_CHARS)}\``;

/** Lists the names that a mapping or condition reads. Their values are loaded before it is evaluated. */
export function namesIn(mapping: Mapping | StepCondition): ReadonlySet<string> {
  return new Set(readsIn(mapping).map(({ name }) => name));
}

/** A value that a mapping reads. `*` maps over a list. */
export interface MappingRead extends Reference {
  /** True if a missing value is no error. */
  readonly isOptional: boolean;
  /** True in an expression, which needs the value also in the classic form. */
  readonly isInCel?: boolean;
}

/** Lists the references of a mapping or condition, also those in its expressions. */
export function readsIn(mapping: Mapping | StepCondition): readonly MappingRead[] {
  if ('truthy' in mapping) return readsIn(mapping.truthy);
  if ('object' in mapping) return Object.values(mapping.object).flatMap(readsIn);
  if ('list' in mapping) return mapping.list.flatMap(readsIn);
  if ('template' in mapping) return mapping.template.flatMap((part) => (typeof part === 'string' ? [] : readsIn(part)));
  if ('cel' in mapping) return celReads(mapping.cel);
  if (!('ref' in mapping)) return [];
  const { name, parts, text } = mapping.ref;
  const [first, ...rest] = parts;
  const isAlias = name === STEPS && typeof first === 'string';
  return [{ ...(isAlias ? { name: first, parts: rest } : { name, parts }), text, isOptional: false }];
}

function celReads(source: string): readonly MappingRead[] {
  const expression = compileValueExpression(source);
  if (!('evaluate' in expression)) return [];
  return expression.reads.map(({ name, parts, isOptional }) => ({
    name,
    parts,
    text: textOf(name, parts),
    isOptional,
    isInCel: true,
  }));
}
