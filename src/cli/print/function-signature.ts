import type { Json, JsonObject, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { declaredArguments, resolveReference, typesOf } from '../input/declared-arguments.ts';

const MAX_CHARS = 160;
const MAX_RESULT_CHARS = 80;
const MAX_NAME_CHARS = 80;
const MAX_MEMBERS = 6;
// More parameters than fit into MAX_CHARS: the rest is not formatted.
const MAX_PARAMETERS = 40;
const MAX_DEPTH = 4;

/** Formats a tool like a TypeScript function: `get-sum(a: number, b?: number) -> { sum: number }`, on one line. */
export function functionSignature({ kind, definition }: Pick<Target, 'kind' | 'definition'>, name: string): string {
  if (kind === 'prompt') return oneLine(`${name}(${shortened(promptParameters(definition))})`);
  const { inputSchema, outputSchema } = definition;
  const { names, required, schemasOf } = declaredArguments(inputSchema);
  const isRequired = new Set(required);
  const ordered = [...names].sort((a, b) => Number(isRequired.has(b)) - Number(isRequired.has(a)));
  const parameters = ordered.slice(0, MAX_PARAMETERS).map((one) => {
    const type = union(schemasOf(one), (schema) => typeText(schema, { root: inputSchema, depth: 0 }));
    return parameter(one, isRequired.has(one), type);
  });
  const result =
    outputSchema === undefined
      ? ''
      : ` -> ${cut(typeText(outputSchema, { root: outputSchema, depth: 0 }), MAX_RESULT_CHARS)}`;
  return oneLine(`${cut(name)}(${shortened(parameters)})${result}`);
}

/** Returns the name to call a tool or prompt by: `server.tool`, unless that cannot be typed. */
export const callName = ({ group, shownAs, publicName, flags }: Target): string =>
  group === undefined || shownAs === undefined || flags.includes('unprintable') ? publicName : `${group}.${shownAs}`;

function promptParameters({ arguments: list }: JsonObject): readonly string[] {
  return (Array.isArray(list) ? list : [])
    .filter(isObject)
    .map(({ name, required }) => parameter(String(name), required === true, 'string'));
}

const parameter = (name: string, isRequired: boolean, type: string) => `${key(name)}${isRequired ? '' : '?'}: ${type}`;

/** Quotes a name that is no plain word, so that it cannot pass for other parameters. */
function key(name: string): string {
  const short = name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;
  return /^[\w$-]+$/.test(short) ? short : JSON.stringify(short);
}

/** Joins parameters up to 160 characters. An ellipsis stands for the rest. */
function shortened(parameters: readonly string[]): string {
  const whole = parameters.join(', ');
  if (whole.length <= MAX_CHARS) return whole;
  const kept: string[] = [];
  let chars = 0;
  for (const one of parameters) {
    chars += one.length + 2;
    if (chars > MAX_CHARS && kept.length > 0) break;
    kept.push(cut(one));
  }
  return kept.length === parameters.length ? kept.join(', ') : `${kept.join(', ')}, …`;
}

const cut = (text: string, max = MAX_CHARS): string => (text.length > max ? `${text.slice(0, max)}…` : text);

interface Position {
  /** The schema that references point into. */
  readonly root: Json | undefined;
  readonly depth: number;
}

/** Formats the type that a schema describes. Deep and long types are shortened. */
function typeText(schema: Json | undefined, at: Position): string {
  if (!isObject(schema)) return schema === false ? 'never' : 'unknown';
  if (at.depth > MAX_DEPTH) return '…';
  const inner = { ...at, depth: at.depth + 1 };
  if (schema.$ref !== undefined) return typeText(resolveReference(at.root, schema.$ref), inner);
  if (schema.const !== undefined) return cut(JSON.stringify(schema.const));
  if (Array.isArray(schema.enum)) return union(schema.enum, (value) => cut(JSON.stringify(value)));
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives)) return union(alternatives, (one) => typeText(one, inner));
  const types = typesOf(schema);
  if (types.length > 0) return union(types, (type) => nameOfType(String(type), schema, inner));
  const [first] = Array.isArray(schema.allOf) ? schema.allOf : [];
  return first === undefined ? 'unknown' : typeText(first, inner);
}

function union(members: readonly Json[], format: (member: Json) => string): string {
  const all = [...new Set(members.slice(0, MAX_MEMBERS).map(format))];
  return [...all, ...(members.length > MAX_MEMBERS ? ['…'] : [])].join(' | ') || 'never';
}

function nameOfType(type: string, schema: JsonObject, at: Position): string {
  switch (type) {
    case 'integer':
      return 'number';
    case 'array': {
      const element = Array.isArray(schema.items) ? 'unknown' : typeText(schema.items, at);
      return isUnion(element) ? `(${element})[]` : `${element}[]`;
    }
    case 'object':
      return objectType(schema, at);
    default:
      return type;
  }
}

/** Tests for a `|` outside of braces. */
function isUnion(type: string): boolean {
  let outside = type;
  for (let depth = 0; depth <= MAX_DEPTH; depth++) outside = outside.replace(/\{[^{}]*\}/g, '');
  return outside.includes(' | ');
}

function objectType({ properties, required, additionalProperties }: JsonObject, at: Position): string {
  const members = Object.entries(isObject(properties) ? properties : {});
  if (members.length === 0) {
    return isObject(additionalProperties) ? `Record<string, ${typeText(additionalProperties, at)}>` : 'object';
  }
  const shown = members
    .slice(0, MAX_MEMBERS)
    .map(([name, schema]) => parameter(name, Array.isArray(required) && required.includes(name), typeText(schema, at)));
  return `{ ${[...shown, ...(members.length > MAX_MEMBERS ? ['…'] : [])].join(', ')} }`;
}
