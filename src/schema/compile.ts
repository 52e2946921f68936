import type { ErrorObject } from 'ajv';
import type { Json, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { closest } from '../core/text/did-you-mean.ts';
import { fastCheck } from './fast-check.ts';
import { loadAjv } from './load-ajv.ts';
import { optionalNulls } from './optional-null.ts';
import { brokenLimit } from './schema-limits.ts';
import { checkBudget, OverBudget } from './step-budget.ts';

const MAX_VALUE = 60;
// Keys of the input and lists of allowed values can be as long as a message.
const MAX_PLACE = 200;
const MAX_ALLOWED = 2_000;
const MAX_NAMES = 8;

/** Returns what is wrong with an input as a sentence, or undefined. */
export type Check = (input: JsonObject) => string | undefined;

export interface CheckOptions {
  /** Treats an optional property that is null as absent where the schema allows no null. */
  readonly nullIsAbsent?: boolean;
}

/**
 * Compiles an untrusted schema to a check. Throws TOOL_INVALID when it is broken or exceeds the limits.
 * The check throws INPUT_INVALID when the input takes too many steps.
 */
export function compileCheck(schema: JsonObject, tool: string, options: CheckOptions = {}): Check {
  const broken = brokenLimit(schema);
  if (broken) throw invalid(tool, broken);
  const budget = checkBudget();
  const fits = fastCheck(schema, budget);
  if (!fits) return thoroughCheck(schema, tool, options);
  // Most inputs are valid and most schemas simple: the fast check then avoids loading ajv. Errors come from ajv.
  let thorough: Check | undefined;
  return function check(input) {
    budget.restart();
    try {
      if (fits(input)) return undefined;
    } catch (cause) {
      throw failed(tool, cause);
    }
    thorough ??= thoroughCheck(schema, tool, options);
    return thorough(input);
  };
}

function thoroughCheck(schema: JsonObject, tool: string, { nullIsAbsent = false }: CheckOptions): Check {
  const compile = loadAjv(); // Outside `try`: a failure to load ajv is no fault of the schema.
  const budget = checkBudget();
  const errorsOf = compiled(tool, () => compile(schema, budget));
  const nullBehind = nullIsAbsent ? optionalNulls(schema) : () => undefined;
  return function check(input) {
    budget.restart();
    let rest: Record<string, Json | undefined> | undefined;
    for (;;) {
      const [error] = checked(tool, () => errorsOf(rest ?? input));
      const name = error && nullBehind(error);
      if (name === undefined) return error && inWords(error);
      // All nulls of one input share the budget of one check: each null repeats it.
      rest ??= { ...input };
      delete rest[name];
    }
  };
}

function compiled<T>(tool: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw unusable(tool, cause);
  }
}

function checked<T>(tool: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw failed(tool, cause);
  }
}

/** Returns INPUT_INVALID for a check that takes too many steps, and TOOL_INVALID for any other failure. */
function failed(tool: string, cause: unknown): HeddleError {
  if (!(cause instanceof OverBudget)) return unusable(tool, cause);
  return new HeddleError('INPUT_INVALID', `The arguments of ${tool} are too large to check: ${cause.message}.`, {
    cause,
    fix: 'Send fewer or shorter values in one call.',
  });
}

const unusable = (tool: string, cause: unknown) =>
  invalid(tool, cause instanceof Error ? cause.message : 'it cannot be compiled', cause);

function inWords(error: ErrorObject): string {
  const at = placeOf(error.instancePath);
  const { params, data } = error;
  switch (error.keyword) {
    case 'required':
      return `${at} lacks ${quoted(String(params.missingProperty))}`;
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = String(params.additionalProperty ?? params.unevaluatedProperty);
      const owner = error.instancePath === '' ? 'an argument of this tool' : `a property of ${at}`;
      return `${quoted(name)} is not ${owner}${allowedNames(name, error.parentSchema?.properties)}`;
    }
    case 'enum':
      return `${at} must be one of ${cut(JSON.stringify(params.allowedValues), MAX_ALLOWED)}, got ${shown(data)}`;
    case 'const':
      return `${at} must be ${cut(JSON.stringify(params.allowedValue), MAX_ALLOWED)}, got ${shown(data)}`;
    default:
      return `${at} ${error.message ?? 'does not fit'}, got ${shown(data)}`;
  }
}

/** Names a few of the allowed properties, the one nearest to `wrong` first. */
function allowedNames(wrong: string, properties: unknown): string {
  const known = Object.keys(isObject(properties) ? properties : {});
  if (known.length === 0) return '';
  const nearest = closest(wrong, known);
  const sorted = nearest === undefined ? known : [nearest, ...known.filter((name) => name !== nearest)];
  const shown = sorted.slice(0, MAX_NAMES).map(quoted);
  return `; it takes ${[...shown, ...(sorted.length > MAX_NAMES ? ['…'] : [])].join(', ')}`;
}

const quoted = (name: string) => `\`${cut(name, MAX_PLACE)}\``;

const placeOf = (pointer: string) =>
  pointer === ''
    ? 'the input'
    : `\`${cut(pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~'), MAX_PLACE)}\``;

const shown = (value: unknown) => cut(JSON.stringify(value) ?? String(value), MAX_VALUE);

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text);

const invalid = (tool: string, why: string, cause?: unknown) =>
  new HeddleError('TOOL_INVALID', `${tool} cannot be called: its input schema is not usable (${why}).`, { cause });
