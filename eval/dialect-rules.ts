// The rules of each vendor's API, from its documentation and its error messages. The code is independent of the
// translation, so that a mistake in one is found by the other.
import type { Json, JsonObject } from '../src/core/call.ts';
import { isObject } from '../src/core/json.ts';

type Problems = readonly string[];
type Report = (problem: string) => void;

function collect(run: (report: Report) => void): Problems {
  const problems: string[] = [];
  run((problem) => problems.push(problem));
  return problems;
}

const COMBINATORS = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', '$ref'];
const KEYWORDS_WITH_SCHEMA = [
  'items',
  'additionalProperties',
  'not',
  'contains',
  'propertyNames',
  'if',
  'then',
  'else',
];

function walk(schema: Json | undefined, at: string, visit: (schema: JsonObject, at: string) => void): void {
  if (!isObject(schema)) return;
  visit(schema, at);
  for (const keyword of KEYWORDS_WITH_SCHEMA) walk(schema[keyword], `${at}/${keyword}`, visit);
  for (const keyword of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    const list = schema[keyword];
    if (Array.isArray(list)) for (const [index, one] of list.entries()) walk(one, `${at}/${keyword}/${index}`, visit);
  }
  for (const keyword of ['properties', 'patternProperties', '$defs', 'dependentSchemas']) {
    const map = schema[keyword];
    if (isObject(map)) for (const [name, one] of Object.entries(map)) walk(one, `${at}/${keyword}/${name}`, visit);
  }
}

function pointsInside(root: JsonObject, reference: string): boolean {
  if (!reference.startsWith('#')) return false;
  if (reference !== '#' && !reference.startsWith('#/')) return true;
  let here: Json | undefined = root;
  for (const step of decodeURIComponent(reference).split('/').slice(1)) {
    if (typeof here !== 'object' || here === null) return false;
    here = (here as JsonObject)[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return here !== undefined;
}

function checkTop(schema: JsonObject, report: Report): void {
  if (schema.type !== 'object') report('the top is not an object');
  for (const keyword of COMBINATORS) if (schema[keyword] !== undefined) report(`${keyword} at the top`);
}

/** Returns violations of Claude's rules: names of 1 to 128 characters; JSON Schema 2020-12; at the top an object without combinators. */
export function anthropicProblems(tool: JsonObject): Problems {
  return collect((report) => {
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(tool.name))) report('the name');
    const schema = tool.input_schema as JsonObject;
    checkTop(schema, report);
    for (const name of Object.keys((schema.properties ?? {}) as JsonObject)) {
      if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) report(`the property name ${name}`);
    }
    walk(schema, '', (one, at) => {
      if (Array.isArray(one.items)) report(`${at}: a tuple of an older draft`);
      if (typeof one.$ref === 'string' && !pointsInside(schema, one.$ref)) report(`${at}: ${one.$ref} is not inside`);
    });
  });
}

/** Returns violations of OpenAI's rules: names of 1 to 64 and descriptions up to 1024 characters; an object at the top; arrays with `items`. */
export function openAiProblems(tool: JsonObject): Problems {
  return collect((report) => {
    const { name, description, parameters } = tool.function as JsonObject;
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(name))) report('the name');
    if (String(description ?? '').length > 1_024) report('the description is too long');
    checkTop(parameters as JsonObject, report);
    walk(parameters, '', (one, at) => {
      if ([one.type].flat().includes('array') && one.items === undefined) report(`${at}: an array without items`);
      if (typeof one.$ref === 'string' && !pointsInside(parameters as JsonObject, one.$ref))
        report(`${at}: ${one.$ref}`);
    });
  });
}

const STRICT_KEYWORDS: { readonly [type: string]: readonly string[] } = {
  string: ['pattern', 'format', 'enum', 'const'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'enum', 'const'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'enum', 'const'],
  boolean: ['enum', 'const'],
  null: [],
  array: ['items', 'minItems', 'maxItems'],
  object: ['properties', 'required', 'additionalProperties'],
};
const STRICT_FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];
const EVERYWHERE = ['type', 'title', 'description', '$defs'];

/**
 * Returns violations of OpenAI's strict rules. Every schema has a type, `anyOf` or a `$ref`; a `$ref` stands alone.
 * Objects require all their properties and allow no others. Only some keywords and formats are allowed. The limits are
 * 5000 properties, 10 nested objects, 1000 enum values, 120 000 characters of names and values, and 15 000 characters
 * in an enum of more than 250 values.
 */
export function openAiStrictProblems(parameters: JsonObject, limits = { properties: 5_000, depth: 10 }): Problems {
  return collect((report) => {
    checkTop(parameters, report);
    let [properties, values, characters] = [0, 0, 0];
    walk(parameters, '', (one, at) => {
      for (const problem of strictNodeProblems(one, parameters)) report(`${at}: ${problem}`);
      const names = Object.keys((one.properties ?? {}) as JsonObject);
      const listed = (Array.isArray(one.enum) ? one.enum : []).map(String);
      properties += names.length;
      values += listed.length;
      characters += [...names, ...listed].join('').length;
      if (listed.length > 250 && listed.join('').length > 15_000) report(`${at}: many long values`);
    });
    if (properties > limits.properties) report(`${properties} properties`);
    if (values > 1_000) report(`${values} listed values`);
    if (characters > 120_000) report(`${characters} characters of names and values`);
    const depth = Math.max(...[parameters, ...Object.values((parameters.$defs ?? {}) as JsonObject)].map(objectDepth));
    if (depth > limits.depth) report(`${depth} nested objects`);
  });
}

function strictNodeProblems(one: JsonObject, root: JsonObject): Problems {
  return collect((report) => {
    if (one.$ref === undefined) return checkStrictNode(one, report);
    if (Object.keys(one).length > 1) report('another keyword beside $ref');
    if (!pointsInside(root, String(one.$ref))) report(`${one.$ref} is not inside`);
  });
}

function checkStrictNode(one: JsonObject, report: Report): void {
  const types = [one.type ?? []].flat().map(String);
  if (types.length === 0 && !Array.isArray(one.anyOf)) report('no type');
  const keywords = types.length === 0 ? ['anyOf'] : types.flatMap((type) => STRICT_KEYWORDS[type] ?? []);
  for (const key of Object.keys(one))
    if (![...EVERYWHERE, ...keywords].includes(key)) report(`${key} is not permitted`);
  checkStrictText(one, report);
  if (types.includes('array') && !isObject(one.items)) report('an array without items');
  if (types.includes('object')) checkStrictObject(one, report);
}

function checkStrictText({ format, pattern }: JsonObject, report: Report): void {
  if (format !== undefined && !STRICT_FORMATS.includes(String(format))) report(`format ${format}`);
  if (typeof pattern === 'string' && /\(\?[=!<]/.test(pattern)) report('look-around');
}

function checkStrictObject({ properties, required, additionalProperties }: JsonObject, report: Report): void {
  if (additionalProperties !== false) report('additionalProperties is not false');
  const names = Object.keys((properties ?? {}) as JsonObject);
  if (JSON.stringify([...names].sort()) !== JSON.stringify([...((required ?? []) as string[])].sort())) {
    report('not all properties are required');
  }
}

function objectDepth(schema: Json | undefined): number {
  if (!isObject(schema)) return 0;
  const inside = [
    ...Object.values((schema.properties ?? {}) as JsonObject),
    ...((schema.anyOf ?? []) as readonly Json[]),
    schema.items,
  ].map(objectDepth);
  return Math.max(0, ...inside) + ([schema.type].flat().includes('object') ? 1 : 0);
}

const GEMINI_KEYWORDS: { readonly [type: string]: readonly string[] } = {
  STRING: ['format', 'enum', 'pattern', 'minLength', 'maxLength'],
  NUMBER: ['format', 'minimum', 'maximum'],
  INTEGER: ['format', 'minimum', 'maximum'],
  BOOLEAN: [],
  NULL: [],
  ARRAY: ['items', 'minItems', 'maxItems'],
  OBJECT: ['properties', 'required', 'propertyOrdering', 'minProperties', 'maxProperties'],
};
const GEMINI_FORMATS = { STRING: ['enum', 'date-time'], NUMBER: ['float', 'double'], INTEGER: ['int32', 'int64'] };

/**
 * Returns violations of Gemini's rules. Each schema has one upper-case type, or `anyOf` alone. Only strings have an
 * `enum`, without empty values. Objects have at least one property and arrays `items`. Required properties exist.
 * 64-bit counts are strings. There are no references.
 */
export function geminiProblems(declaration: JsonObject): Problems {
  return collect((report) => {
    if (!/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(String(declaration.name))) report('the name');
    if (declaration.parameters === undefined) return;
    if ((declaration.parameters as JsonObject).type !== 'OBJECT') report('the top is not an object');
    walk(declaration.parameters, '', (one, at) => {
      for (const problem of geminiNodeProblems(one)) report(`${at}: ${problem}`);
    });
  });
}

function geminiNodeProblems(one: JsonObject): Problems {
  return collect((report) => {
    if (one.anyOf === undefined) checkGeminiNode(one, report);
    else if (Object.keys(one).length > 1) report('another keyword beside anyOf');
  });
}

function checkGeminiNode(one: JsonObject, report: Report): void {
  const keywords = GEMINI_KEYWORDS[String(one.type)];
  if (!keywords) report(`type ${JSON.stringify(one.type)}`);
  for (const key of Object.keys(one)) {
    if (!['type', 'title', 'description', 'nullable', ...(keywords ?? [])].includes(key))
      report(`${key} on ${one.type}`);
  }
  checkGeminiValues(one, report);
  if (one.type === 'ARRAY' && !isObject(one.items)) report('an array without items');
  if (one.type === 'OBJECT') checkGeminiObject(one, report);
}

function checkGeminiValues(one: JsonObject, report: Report): void {
  const formats: readonly string[] = GEMINI_FORMATS[one.type as keyof typeof GEMINI_FORMATS] ?? [];
  if (one.format !== undefined && !formats.includes(String(one.format))) report(`format ${one.format}`);
  const values = Array.isArray(one.enum) ? one.enum : [];
  if (!values.every((value) => typeof value === 'string' && value !== '')) report('enum');
  for (const key of ['minItems', 'maxItems', 'minLength', 'maxLength']) {
    if (one[key] !== undefined && !/^\d+$/.test(String(one[key]))) report(key);
  }
}

function checkGeminiObject({ properties, required }: JsonObject, report: Report): void {
  const names = Object.keys((properties ?? {}) as JsonObject);
  if (names.length === 0) report('an object without properties');
  for (const name of names) if (!/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(name)) report(`the property name ${name}`);
  for (const name of (required ?? []) as readonly string[]) if (!names.includes(name)) report(`${name} is not defined`);
}
