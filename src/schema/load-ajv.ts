import { createRequire } from 'node:module';
import type { Ajv as AnyAjv, ErrorObject, Options, ValidateFunction } from 'ajv';
import type { Json, JsonObject } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import { countedReferences, VISIT, type VisitCounter, visitCounter } from './counted-references.ts';
import { safePattern } from './safe-pattern.ts';

const require = createRequire(import.meta.url);

/** Gives a function that finds what does not fit the schema. Throws when the schema is broken. */
export type Compile = (schema: JsonObject) => (input: JsonObject) => readonly ErrorObject[];

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

let loaded: Compile | undefined;

/** The compiler: at once, because a check is no promise, and loaded only when it is first wanted, because it is large. */
export function loadAjv(): Compile {
  loaded ??= load();
  return loaded;
}

function load(): Compile {
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  const { Ajv } = require('ajv') as typeof import('ajv');
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
