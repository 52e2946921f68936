import { createRequire } from 'node:module';
import type { Ajv as AnyAjv, ErrorObject, Options, ValidateFunction } from 'ajv';
import type { Json, JsonObject } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import { type Meters, meterKeywords } from './metered-keywords.ts';
import { patternsOf } from './safe-pattern.ts';
import { compileBudget, type StepBudget } from './step-budget.ts';

const require = createRequire(import.meta.url);

/** Returns the errors of an input. Throws when the check takes more steps than are left. */
export type FindErrors = (input: Json | JsonObject) => readonly ErrorObject[];

/** Compiles a schema whose checks take their steps from the budget. Throws when the schema is broken. */
export type Compile = (schema: JsonObject, checking: StepBudget) => FindErrors;

const OPTIONS: Options = {
  // Unknown keywords are allowed: servers write schemas for many validators.
  strict: false,
  logger: false,
  validateFormats: false,
  // Without this, a required `constructor` would be found on every object.
  ownProperties: true,
  // Each schema has its own instance, because two servers may use the same `$id`. Adding the meta schema is slow.
  meta: false,
  validateSchema: false,
  verbose: true,
  // A definition is compiled once, not once for each reference to it.
  inlineRefs: false,
};

// Drafts before 2019 are read as draft 7. The difference that servers use is tuples.
const OLD_DRAFT = /draft-0[3-7]/;

let loaded: Compile | undefined;

/** Loads ajv when the first check needs it, because it is large. Synchronous, because checks are. */
export function loadAjv(): Compile {
  loaded ??= load();
  return loaded;
}

function load(): Compile {
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  const { Ajv, _, Name } = require('ajv') as typeof import('ajv');
  return function compile(schema, checking) {
    const isOld = typeof schema.$schema === 'string' && OLD_DRAFT.test(schema.$schema);
    const meters: Meters = { checking, compiling: compileBudget() };
    const options = optionsFor(meters);
    const ajv = isOld ? new Ajv(options) : new Ajv2020(options);
    // Tracking of evaluated properties is slow, and few schemas need it.
    if (!JSON.stringify(schema).includes('"unevaluated')) ajv.opts.unevaluated = false;
    replaceUniqueItems(ajv, checking);
    meterKeywords(ajv, meters, { _, Name });
    // `$async` is a keyword of ajv alone. It would turn the check into a promise that is never awaited.
    const { $async: _async, ...plain } = schema;
    const validate: ValidateFunction = ajv.compile(plain);
    return (input) => (validate(input) ? [] : (validate.errors ?? []));
  };
}

function optionsFor({ checking, compiling }: Meters): Options {
  const { default: uri } = require('ajv/dist/runtime/uri.js') as typeof import('ajv/dist/runtime/uri.js');
  const counted = <A extends readonly unknown[], R>(run: (...args: A) => R) => {
    return (...args: A): R => {
      compiling.take(1);
      return run(...args);
    };
  };
  return {
    ...OPTIONS,
    // Each address that is serialized was parsed before, and is counted there.
    uriResolver: { parse: counted(uri.parse), resolve: counted(uri.resolve), serialize: uri.serialize },
    // Optimising costs more than it saves, because large schemas spend their time in compilation.
    code: { optimize: false, regExp: Object.assign(patternsOf(checking), { code: 'safePattern' }) as never },
  };
}

/** Replaces ajv's keyword, which compares every item with every other in quadratic time. */
function replaceUniqueItems(ajv: AnyAjv, checking: StepBudget): void {
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have the same item twice' },
    validate: (wanted: boolean, items: readonly Json[]) => !wanted || areUnique(items, checking),
  });
}

function areUnique(items: readonly Json[], checking: StepBudget): boolean {
  const texts = new Set<string>();
  for (const item of items) {
    const text = canonicalJson(item);
    checking.take((typeof item === 'object' ? 12 : 1) + (text.length >> 2));
    texts.add(text);
  }
  return texts.size === items.length;
}
