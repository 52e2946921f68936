import type { ErrorObject } from 'ajv';
import type { JsonObject } from '../core/call.ts';
import { closest } from '../core/did-you-mean.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { loadAjv } from './load-ajv.ts';
import { plainFit } from './plain-fit.ts';
import { brokenLimit } from './schema-limits.ts';

/** What is wrong with an input, in words; undefined when nothing is. */
export type Check = (input: JsonObject) => string | undefined;

/** Turns a schema from outside into a check. Throws TOOL_INVALID when it is broken or breaks the limits. */
export function compileCheck(schema: JsonObject, tool: string): Check {
  const broken = brokenLimit(schema);
  if (broken) throw invalid(tool, broken);
  const fits = plainFit(schema);
  if (!fits) return thoroughCheck(schema, tool);
  // Most inputs fit, and most schemas are plain: then nothing has to be loaded or compiled. What is wrong, the compiler says.
  let thorough: Check | undefined;
  return function check(input) {
    if (fits(input)) return undefined;
    thorough ??= thoroughCheck(schema, tool);
    return thorough(input);
  };
}

function thoroughCheck(schema: JsonObject, tool: string): Check {
  const compile = loadAjv(); // That it cannot be loaded is no fault of the schema.
  const errorsOf = orInvalid(tool, () => compile(schema));
  return function check(input) {
    const [error] = orInvalid(tool, () => errorsOf(input));
    return error && inWords(error);
  };
}

function orInvalid<T>(tool: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw invalid(tool, cause instanceof Error ? cause.message : 'it cannot be compiled', cause);
  }
}

function inWords(error: ErrorObject): string {
  const at = placeOf(error.instancePath);
  const { params, data } = error;
  switch (error.keyword) {
    case 'required':
      return `${at} lacks \`${params.missingProperty}\``;
    case 'additionalProperties': {
      const known = Object.keys(isObject(error.parentSchema?.properties) ? error.parentSchema.properties : {});
      const guess = closest(String(params.additionalProperty), known);
      return `${at} has no \`${params.additionalProperty}\`${guess ? `; did you mean \`${guess}\`?` : ''}`;
    }
    case 'enum':
      return `${at} must be one of ${JSON.stringify(params.allowedValues)}, got ${shown(data)}`;
    case 'const':
      return `${at} must be ${JSON.stringify(params.allowedValue)}, got ${shown(data)}`;
    default:
      return `${at} ${error.message ?? 'does not fit'}, got ${shown(data)}`;
  }
}

const placeOf = (pointer: string) =>
  pointer === ''
    ? 'the input'
    : `\`${pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')}\``;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

const invalid = (tool: string, why: string, cause?: unknown) =>
  new HeddleError('TOOL_INVALID', `${tool} cannot be called: its input schema is not usable (${why}).`, { cause });
