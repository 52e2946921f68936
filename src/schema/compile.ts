import type { Ajv as AnyAjv, ErrorObject, Options, ValidateFunction } from 'ajv';
import type { Json, JsonObject } from '../core/call.ts';
import { closest } from '../core/did-you-mean.ts';
import { HeddleError } from '../core/errors.ts';
import { canonicalJson, isObject } from '../core/json.ts';
import { countedReferences, VISIT, type VisitCounter, visitCounter } from './counted-references.ts';
import { safePattern } from './safe-pattern.ts';
import { brokenLimit } from './schema-limits.ts';

/** What is wrong with an input, in words; undefined when nothing is. */
export type Check = (input: JsonObject) => string | undefined;

type Compile = (schema: JsonObject) => (input: JsonObject) => readonly ErrorObject[];

const OPTIONS: Options = {
  // Schemas come from many hands: what ajv does not know is no reason to refuse a tool.
  strict: false,
  logger: false,
  validateFormats: false,
  // Or a required `constructor` would be found on every object.
  ownProperties: true,
  // One schema, one instance: two servers may use the same `$id`. The meta schema would make each instance slow.
  meta: false,
  validateSchema: false,
  verbose: true,
  // Optimising costs more than it saves: compiling is what a large schema makes slow.
  code: {
    optimize: false,
    regExp: Object.assign((source: string) => safePattern(source), { code: 'safePattern' }) as never,
  },
};

// Everything older than 2019 is close enough to draft 7 in what servers use of it: tuples above all.
const OLD_DRAFT = /draft-0[3-7]/;

/** Loads the compiler. Kept apart so that a program that checks nothing need not load it. */
export async function loadCompiler(): Promise<Compile> {
  const [{ Ajv2020 }, { Ajv }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv')]);
  return function compile(schema) {
    const isOld = typeof schema.$schema === 'string' && OLD_DRAFT.test(schema.$schema);
    const visits = visitCounter();
    const ajv = withOwnKeywords(isOld ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS), visits);
    // `$async` is a word of ajv alone, and would turn the check into a promise that nobody waits for.
    const { $async: _, ...plain } = countedReferences(schema);
    const validate: ValidateFunction = ajv.compile(plain);
    return function errorsOf(input) {
      visits.restart();
      return validate(input) ? [] : (validate.errors ?? []);
    };
  };
}

function withOwnKeywords(ajv: AnyAjv, visits: VisitCounter): AnyAjv {
  ajv.addKeyword({ keyword: VISIT, validate: visits.count, errors: false });
  // Ajv compares every item with every other: a long list would hold up everybody.
  ajv.removeKeyword('uniqueItems');
  return ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have the same item twice' },
    validate: (wanted: boolean, items: readonly Json[]) =>
      !wanted || new Set(items.map((item) => canonicalJson(item))).size === items.length,
  });
}

/** Turns a schema from outside into a check. Throws TOOL_INVALID when it is broken or breaks the limits. */
export function compileCheck(compile: Compile, schema: JsonObject, tool: string): Check {
  const broken = brokenLimit(schema);
  if (broken) throw invalid(tool, broken);
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
