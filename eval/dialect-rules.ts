// What each vendor's API refuses, as its documentation and its error messages put it. Nothing here is shared with the
// translation: a mistake in one is seen by the other.
import type { Json, JsonObject } from '../src/core/call.ts';
import { isObject } from '../src/core/json.ts';

type Problems = readonly string[];
type Complain = (problem: string) => void;

function collect(run: (complain: Complain) => void): Problems {
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

function checkTop(schema: JsonObject, complain: Complain): void {
  if (schema.type !== 'object') complain('the top is not an object');
  for (const keyword of COMBINATORS) if (schema[keyword] !== undefined) complain(`${keyword} at the top`);
}

/** Claude: names of 1 to 128 plain characters; JSON Schema 2020-12; an object without combinators at the top. */
export function anthropicProblems(tool: JsonObject): Problems {
  return collect((complain) => {
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(tool.name))) complain('the name');
    const schema = tool.input_schema as JsonObject;
    checkTop(schema, complain);
    for (const name of Object.keys((schema.properties ?? {}) as JsonObject)) {
      if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) complain(`the property name ${name}`);
    }
    walk(schema, '', (one, at) => {
      if (Array.isArray(one.items)) complain(`${at}: a tuple of an older draft`);
      if (typeof one.$ref === 'string' && !pointsInside(schema, one.$ref)) complain(`${at}: ${one.$ref} is not inside`);
    });
  });
}

/** OpenAI: names of 1 to 64, descriptions up to 1024 characters; an object at the top; arrays say what is in them. */
export function openAiProblems(tool: JsonObject): Problems {
  return collect((complain) => {
    const { name, description, parameters } = tool.function as JsonObject;
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(name))) complain('the name');
    if (String(description ?? '').length > 1_024) complain('the description is too long');
    checkTop(parameters as JsonObject, complain);
    walk(parameters, '', (one, at) => {
      if ([one.type].flat().includes('array') && one.items === undefined) complain(`${at}: an array without items`);
      if (typeof one.$ref === 'string' && !pointsInside(parameters as JsonObject, one.$ref))
        complain(`${at}: ${one.$ref}`);
    });
  });
}

const STRICT_WORDS: { readonly [type: string]: readonly string[] } = {
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
 * OpenAI strict: every schema has a type, `anyOf` or a reference; objects list all their properties as required and take
 * no others; only some keywords and formats; nothing beside a reference; at most 5000 properties, 10 objects inside one
 * another, 1000 listed values, 120 000 characters of names and values, and 15 000 in an enumeration of over 250.
 */
export function openAiStrictProblems(parameters: JsonObject, limits = { properties: 5_000, depth: 10 }): Problems {
  return collect((complain) => {
    checkTop(parameters, complain);
    let [properties, values, characters] = [0, 0, 0];
    walk(parameters, '', (one, at) => {
      for (const problem of strictNodeProblems(one, parameters)) complain(`${at}: ${problem}`);
      const names = Object.keys((one.properties ?? {}) as JsonObject);
      const listed = (Array.isArray(one.enum) ? one.enum : []).map(String);
      properties += names.length;
      values += listed.length;
      characters += [...names, ...listed].join('').length;
      if (listed.length > 250 && listed.join('').length > 15_000) complain(`${at}: many long values`);
    });
    if (properties > limits.properties) complain(`${properties} properties`);
    if (values > 1_000) complain(`${values} listed values`);
    if (characters > 120_000) complain(`${characters} characters of names and values`);
    const depth = Math.max(...[parameters, ...Object.values((parameters.$defs ?? {}) as JsonObject)].map(objectDepth));
    if (depth > limits.depth) complain(`${depth} objects inside one another`);
  });
}

function strictNodeProblems(one: JsonObject, root: JsonObject): Problems {
  return collect((complain) => {
    if (one.$ref === undefined) return checkStrictNode(one, complain);
    if (Object.keys(one).length > 1) complain('something stands beside a reference');
    if (!pointsInside(root, String(one.$ref))) complain(`${one.$ref} is not inside`);
  });
}

function checkStrictNode(one: JsonObject, complain: Complain): void {
  const types = [one.type ?? []].flat().map(String);
  if (types.length === 0 && !Array.isArray(one.anyOf)) complain('no type');
  const words = types.length === 0 ? ['anyOf'] : types.flatMap((type) => STRICT_WORDS[type] ?? []);
  for (const key of Object.keys(one)) if (![...EVERYWHERE, ...words].includes(key)) complain(`${key} is not permitted`);
  checkStrictText(one, complain);
  if (types.includes('array') && !isObject(one.items)) complain('an array without items');
  if (types.includes('object')) checkStrictObject(one, complain);
}

function checkStrictText({ format, pattern }: JsonObject, complain: Complain): void {
  if (format !== undefined && !STRICT_FORMATS.includes(String(format))) complain(`format ${format}`);
  if (typeof pattern === 'string' && /\(\?[=!<]/.test(pattern)) complain('look-around');
}

function checkStrictObject({ properties, required, additionalProperties }: JsonObject, complain: Complain): void {
  if (additionalProperties !== false) complain('additionalProperties is not false');
  const names = Object.keys((properties ?? {}) as JsonObject);
  if (JSON.stringify([...names].sort()) !== JSON.stringify([...((required ?? []) as string[])].sort())) {
    complain('not all properties are required');
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

const GEMINI_WORDS: { readonly [type: string]: readonly string[] } = {
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
 * Gemini: one upper-case type each; nothing beside `anyOf`; values listed only for texts, and none empty; objects name at
 * least one property and arrays their items; required properties exist; 64-bit counts are texts; no references.
 */
export function geminiProblems(declaration: JsonObject): Problems {
  return collect((complain) => {
    if (!/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(String(declaration.name))) complain('the name');
    if (declaration.parameters === undefined) return;
    if ((declaration.parameters as JsonObject).type !== 'OBJECT') complain('the top is not an object');
    walk(declaration.parameters, '', (one, at) => {
      for (const problem of geminiNodeProblems(one)) complain(`${at}: ${problem}`);
    });
  });
}

function geminiNodeProblems(one: JsonObject): Problems {
  return collect((complain) => {
    if (one.anyOf === undefined) checkGeminiNode(one, complain);
    else if (Object.keys(one).length > 1) complain('something stands beside anyOf');
  });
}

function checkGeminiNode(one: JsonObject, complain: Complain): void {
  const words = GEMINI_WORDS[String(one.type)];
  if (!words) complain(`type ${JSON.stringify(one.type)}`);
  for (const key of Object.keys(one)) {
    if (!['type', 'title', 'description', 'nullable', ...(words ?? [])].includes(key))
      complain(`${key} on ${one.type}`);
  }
  checkGeminiValues(one, complain);
  if (one.type === 'ARRAY' && !isObject(one.items)) complain('an array without items');
  if (one.type === 'OBJECT') checkGeminiObject(one, complain);
}

function checkGeminiValues(one: JsonObject, complain: Complain): void {
  const formats: readonly string[] = GEMINI_FORMATS[one.type as keyof typeof GEMINI_FORMATS] ?? [];
  if (one.format !== undefined && !formats.includes(String(one.format))) complain(`format ${one.format}`);
  const values = Array.isArray(one.enum) ? one.enum : [];
  if (!values.every((value) => typeof value === 'string' && value !== '')) complain('enum');
  for (const key of ['minItems', 'maxItems', 'minLength', 'maxLength']) {
    if (one[key] !== undefined && !/^\d+$/.test(String(one[key]))) complain(key);
  }
}

function checkGeminiObject({ properties, required }: JsonObject, complain: Complain): void {
  const names = Object.keys((properties ?? {}) as JsonObject);
  if (names.length === 0) complain('an object without properties');
  for (const name of names) if (!/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(name)) complain(`the property name ${name}`);
  for (const name of (required ?? []) as readonly string[])
    if (!names.includes(name)) complain(`${name} is not defined`);
}
