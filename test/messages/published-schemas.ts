import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { runInNewContext } from 'node:vm';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';

type Definitions = Readonly<Record<string, { readonly properties?: Properties }>>;
type Properties = Readonly<
  Record<string, { readonly const?: unknown; type?: string; readonly properties?: Properties }>
>;

/** The published schema of one protocol version. */
export interface PublishedSchema {
  readonly version: string;
  has(definition: string): boolean;
  /** Returns the name of the definition with this method; undefined if the version has none. */
  named(method: string): string | undefined;
  /** Returns the name of the error response with this code; undefined if the version has none. */
  errorWith(code: unknown): string | undefined;
  /** Returns how the value violates the definition; undefined if it is valid. */
  violation(definition: string, value: unknown): string | undefined;
}

// The conformance suite contains the schemas of these versions, in this order.
const VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
const SCHEMA_START = /(?<==)\{\$schema:`[^`]*`,(?:\$defs|definitions):/g;
const TEXT_OR_BRACE = /`(?:\\.|[^`\\])*`|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{}]/gs;

let schemas: ReadonlyMap<string, PublishedSchema> | undefined;

/** Returns the schema of a version. 2024-11-05 has that of 2025-03-26, which only adds to it. */
export function publishedSchema(version: string): PublishedSchema {
  schemas ??= new Map(readSchemas().map((schema) => [schema.version, schema]));
  const found = schemas.get(version === '2024-11-05' ? '2025-03-26' : version);
  if (!found) throw new Error(`There is no schema of MCP ${version}.`);
  return found;
}

function readSchemas(): readonly PublishedSchema[] {
  const { resolve } = createRequire(import.meta.url);
  const source = readFileSync(resolve('@modelcontextprotocol/conformance/dist/index.js'), 'utf8');
  const found = [...source.matchAll(SCHEMA_START)].map(({ index }) => JSON.parse(literalAt(source, index)));
  if (found.length !== VERSIONS.length) throw new Error(`The conformance suite has ${found.length} schemas.`);
  return VERSIONS.map((version, at) => toSchema(version, found[at]));
}

/** Returns the object literal that begins at a place of a program, as JSON. */
function literalAt(source: string, start: number): string {
  const tokens = new RegExp(TEXT_OR_BRACE);
  tokens.lastIndex = start;
  let depth = 0;
  for (let token = tokens.exec(source); token; token = tokens.exec(source)) {
    if (token[0] === '{') depth++;
    else if (token[0] === '}' && --depth === 0)
      return runInNewContext(`JSON.stringify(${source.slice(start, tokens.lastIndex)})`);
  }
  throw new Error('A schema of the conformance suite does not end.');
}

interface RawSchema {
  readonly $schema: string;
  readonly $defs?: Definitions;
  readonly definitions?: Definitions;
}

function toSchema(version: string, schema: RawSchema): PublishedSchema {
  const key = schema.$defs ? '$defs' : 'definitions';
  const definitions = schema[key] ?? {};
  allowFractions(definitions);
  const ajv = new (schema.$defs ? Ajv2020 : Ajv)({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(schema, version);
  const validators = new Map<string, ValidateFunction>();
  const methods = new Map(
    Object.entries(definitions)
      .filter(([name]) => /(?:Request|Notification)$/.test(name) && !/^(?:Client|Server)/.test(name))
      .map(([name, { properties }]) => [properties?.method?.const, name]),
  );

  function validatorOf(definition: string): ValidateFunction {
    const known = validators.get(definition) ?? ajv.compile({ $ref: `${version}#/${key}/${definition}` });
    validators.set(definition, known);
    return known;
  }

  const codes = new Map(
    Object.keys(definitions)
      .filter((name) => name.endsWith('Error'))
      .map((name) => [/"const":(-\d+)/.exec(JSON.stringify(definitions[name]))?.[1], name]),
  );
  return {
    version,
    has: (definition) => Object.hasOwn(definitions, definition),
    named: (method) => methods.get(method),
    errorWith: (code) => codes.get(String(code)),
    violation(definition, value) {
      const validate = validatorOf(definition);
      return validate(value) ? undefined : `${version} ${definition}: ${ajv.errorsText(validate.errors)}`;
    },
  };
}

/** The JSON schemas of two versions say `integer` where their TypeScript schemas, which are normative, say `number`. */
function allowFractions(definitions: Definitions): void {
  for (const bound of ['minimum', 'maximum', 'default']) {
    const property = definitions.NumberSchema?.properties?.[bound];
    if (property?.type === 'integer') property.type = 'number';
  }
}
