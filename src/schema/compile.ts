import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import type { JsonObject } from '../core/call.ts';
import { closest } from '../core/did-you-mean.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { safePattern } from './safe-pattern.ts';
import { brokenLimit } from './schema-limits.ts';

/** What is wrong with an input, in words; undefined when nothing is. */
export type Check = (input: JsonObject) => string | undefined;

type Compile = (schema: JsonObject) => ValidateFunction;

const OPTIONS: Options = {
  // Schemas come from many hands: what ajv does not know is no reason to refuse a tool.
  strict: false,
  logger: false,
  validateFormats: false,
  // One schema, one instance: two servers may use the same `$id`. The meta schema would make each instance slow.
  meta: false,
  validateSchema: false,
  verbose: true,
  code: { regExp: Object.assign((source: string) => safePattern(source), { code: 'safePattern' }) as never },
};

/** Loads the compiler. Kept apart so that a program that checks nothing need not load it. */
export async function loadCompiler(): Promise<Compile> {
  const [{ Ajv2020 }, { Ajv }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv')]);
  return function compile(schema) {
    const isDraft7 = typeof schema.$schema === 'string' && schema.$schema.includes('draft-07');
    return (isDraft7 ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS)).compile(schema);
  };
}

/** Turns a schema from outside into a check. Throws TOOL_INVALID when it is broken or breaks the limits. */
export function compileCheck(compile: Compile, schema: JsonObject, tool: string): Check {
  const broken = brokenLimit(schema);
  if (broken) throw invalid(tool, broken);
  let validate: ValidateFunction;
  try {
    validate = compile(schema);
  } catch (cause) {
    throw invalid(tool, cause instanceof Error ? cause.message : 'it cannot be compiled', cause);
  }
  return function check(input) {
    if (validate(input)) return undefined;
    const [error] = validate.errors ?? [];
    return error ? inWords(error) : 'it does not fit the schema';
  };
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
