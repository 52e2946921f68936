import { STEPS } from '../../cel/scope-reads.ts';
import type { Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isRawNumber } from '../../core/exact-numbers.ts';
import { isObject } from '../../core/json.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Reference } from '../definition/canonical.ts';
import type { RunScope } from './run-scope.ts';
import { isSkippedView } from './step-view.ts';

const MAX_NAMED = 10;
const MAX_NAME_CHARS = 60;

type Part = Reference['parts'][number];

/** The value that is reached, and the text of the reference up to it. */
interface Reached {
  readonly value: Json;
  readonly text: string;
}

/**
 * Resolves a reference to its value, which is not copied. `*` maps over a list and leaves out skipped steps. A number
 * indexes a list. Throws EXPRESSION_FAILED with the part that does not exist and the nearest name.
 */
export function valueAtReference(reference: Reference, scope: RunScope): Json {
  const { name, parts } = withoutAlias(reference, scope);
  const value = scope.get(name);
  if (value === undefined) throw unknownName(name, reference, scope);
  return follow({ value, text: `$${name}` }, parts, reference) ?? null;
}

/** Resolves a reference to its value; undefined if it has none. */
export function findValue(reference: Reference, scope: RunScope): Json | undefined {
  try {
    return valueAtReference(reference, scope);
  } catch (thrown) {
    if (isExpressionFailure(thrown)) return undefined;
    throw thrown;
  }
}

export const isExpressionFailure = (thrown: unknown): boolean =>
  HeddleError.is(thrown) && thrown.code === 'EXPRESSION_FAILED';

function withoutAlias(reference: Reference, scope: RunScope): Pick<Reference, 'name' | 'parts'> {
  const [first, ...rest] = reference.parts;
  const isAlias = reference.name === STEPS && typeof first === 'string' && scope.get(STEPS) === undefined;
  return isAlias ? { name: first, parts: rest } : reference;
}

/** Follows the parts. Returns undefined for a skipped step below `*`. */
function follow(start: Reached, parts: readonly Part[], reference: Reference, isMapped = false): Json | undefined {
  let reached = start;
  for (const [at, part] of parts.entries()) {
    if (isSkippedView(reached.value) && part === 'result') {
      if (isMapped) return undefined;
      throw skippedStep(reached.text, reference);
    }
    if (part === '*') return followItems(reached, parts.slice(at + 1), reference);
    reached = next(reached, part, reference);
  }
  if (isSkippedView(reached.value) && !isMapped) throw skippedStep(reached.text, reference);
  return reached.value;
}

function followItems({ value, text }: Reached, rest: readonly Part[], reference: Reference): Json {
  if (!Array.isArray(value)) {
    throw expressionFailed(
      `${shown(reference)} has no value: ${quoted(text)} is ${kindOf(value)}, not a list`,
      'Remove `[*]`.',
    );
  }
  const found: Json[] = [];
  for (const [at, item] of (value as readonly Json[]).entries()) {
    const one = follow({ value: item, text: `${text}[${at}]` }, rest, reference, true);
    if (one !== undefined) found.push(one);
  }
  return found;
}

function next({ value, text }: Reached, part: string | number, reference: Reference): Reached {
  const found = partOf(value, part);
  if (found === undefined) throw missingPart({ value, text }, part, reference);
  return { value: found, text: typeof part === 'number' ? `${text}[${part}]` : `${text}.${part}` };
}

function partOf(value: Json, part: string | number): Json | undefined {
  if (Array.isArray(value)) return /^\d+$/.test(String(part)) ? value[Number(part)] : undefined;
  if (!isObject(value) || isRawNumber(value)) return undefined;
  return Object.hasOwn(value, part) ? value[part] : undefined;
}

function unknownName(name: string, reference: Reference, scope: RunScope): HeddleError {
  const names = [...scope.names()];
  const meant = closest(name, names);
  const known = listed(names.map((one) => `$${one}`));
  const fix = meant === undefined ? `Use one of ${known}.` : `Did you mean \`$${clean(meant)}\`?`;
  return expressionFailed(`${shown(reference)} has no value: no step or value ${quoted(name)} is known here`, fix);
}

function missingPart({ value, text }: Reached, part: string | number, reference: Reference): HeddleError {
  const begin = `${shown(reference)} has no value:`;
  if (Array.isArray(value)) {
    return expressionFailed(
      `${begin} ${quoted(text)} has ${value.length} items and no ${quoted(String(part))}`,
      'Use an index in the list.',
    );
  }
  if (!isObject(value) || isRawNumber(value)) {
    return expressionFailed(
      `${begin} ${quoted(text)} is ${kindOf(value)} and has no field ${quoted(String(part))}`,
      `Use ${quoted(text)}.`,
    );
  }
  const names = Object.keys(value);
  const meant = closest(String(part), names);
  const fields = names.length === 0 ? 'It has no fields.' : `Use one of ${listed(names)}.`;
  const fix = meant === undefined ? fields : `Did you mean ${quoted(meant)}?`;
  return expressionFailed(`${begin} ${quoted(text)} has no field ${quoted(String(part))}`, fix);
}

function skippedStep(text: string, reference: Reference): HeddleError {
  const fix = `Test \`${clean(text)}.status == 'ok'\` first, or read it with \`.?\` in an expression.`;
  return expressionFailed(`${shown(reference)} has no value: ${quoted(text)} was skipped`, fix);
}

/** Creates the error of an expression or reference. `message` has no value of the run. */
export const expressionFailed = (message: string, fix: string): HeddleError =>
  new HeddleError('EXPRESSION_FAILED', `${message}.`, { fix });

const clean = (text: string): string => cutAndEscapeBreaks(text, MAX_NAME_CHARS);
const quoted = (text: string): string => `\`${clean(text)}\``;
const shown = ({ text }: Reference): string => quoted(text);

function listed(names: readonly string[]): string {
  const first = names.slice(0, MAX_NAMED).map(clean).join(', ');
  return names.length > MAX_NAMED ? `${first}, …` : first;
}

function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'true or false';
  return typeof value === 'number' || isRawNumber(value) ? 'a number' : 'an object';
}
