import { compileValueExpression } from '../../cel/value-expression.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import { compileCheck } from '../../schema/compile.ts';
import type { Mapping } from '../definition/canonical.ts';
import { readsIn } from '../expressions/evaluate-mapping.ts';
import type { LintScope } from './lint-scope.ts';
import {
  isOpaque,
  type KnownSchema,
  permittedTypes,
  type SchemaContext,
  schemaOfName,
  schemaOfPath,
} from './result-schema.ts';

/** A part of a mapping that does not fit the schema of a tool. */
export interface MappingProblem {
  readonly code: 'INPUT_MISSING' | 'INPUT_UNKNOWN' | 'TYPE_MISMATCH';
  readonly message: string;
  readonly fix: string;
  /** Absent for an error. */
  readonly level?: 'warning';
  /** The part; absent if it is not there. */
  readonly node?: Mapping;
}

interface Checked {
  readonly context: SchemaContext;
  readonly scope: LintScope;
  readonly tool: string;
}

/** Compares a mapping with the input schema of a tool, as far as both are known before a run. */
export function checkMapping(mapping: Mapping, schema: KnownSchema, checked: Checked): readonly MappingProblem[] {
  return compare(mapping, schema, { ...checked, field: '' });
}

interface At extends Checked {
  readonly field: string;
}

function compare(mapping: Mapping, schema: KnownSchema, at: At): readonly MappingProblem[] {
  const found = isOpaque(schema) ? [] : compareShape(mapping, schema, at);
  const isWrong = found.some(({ level }) => level === undefined);
  return isWrong || !isConstant(mapping) ? found : [...found, ...checkValue(mapping, schema, at)];
}

function compareShape(mapping: Mapping, schema: KnownSchema, at: At): readonly MappingProblem[] {
  if ('value' in mapping) {
    const parts = isObject(mapping.value) ? partsOf(mapping.value) : undefined;
    return parts ? compareShape(parts, schema, at).map((problem) => ({ ...problem, node: mapping })) : [];
  }
  if ('object' in mapping) return checkTypes('object', mapping, schema, at) ?? compareFields(mapping, schema, at);
  if ('list' in mapping) return checkTypes('array', mapping, schema, at) ?? compareItems(mapping.list, schema, at);
  const found = [...(typesOfMapping(mapping, at) ?? [])].map((type) => checkTypes(type, mapping, schema, at));
  return found.every((problems) => problems !== undefined) ? (found[0] ?? []) : [];
}

const partsOf = (value: JsonObject): Mapping => ({
  object: Object.fromEntries(Object.entries(value).map(([key, item]) => [key, { value: item ?? null }])),
});

/** Returns true if a mapping reads nothing, so that its value is known. */
function isConstant(mapping: Mapping): boolean {
  if ('value' in mapping) return true;
  if ('object' in mapping) return Object.values(mapping.object).every(isConstant);
  return 'list' in mapping && mapping.list.every(isConstant);
}

function constantOf(mapping: Mapping): Json {
  if ('object' in mapping) {
    return Object.fromEntries(Object.entries(mapping.object).map(([key, item]) => [key, constantOf(item)]));
  }
  if ('list' in mapping) return mapping.list.map(constantOf);
  return 'value' in mapping ? mapping.value : null;
}

function checkValue(mapping: Mapping, schema: KnownSchema, { tool, field }: At): readonly MappingProblem[] {
  // A part of a schema cannot follow references to the whole.
  if (field !== '' && JSON.stringify(schema).includes('$ref')) return [];
  try {
    const problem = compileCheck(schema, tool)(constantOf(mapping));
    if (problem === undefined) return [];
    const place = field === '' ? '' : ` In \`${field}\`:`;
    const message = `The input does not fit ${tool}:${place} ${problem}`;
    return [{ code: 'TYPE_MISMATCH', message, fix: 'Correct the value.', node: mapping }];
  } catch {
    return []; // The schema of the tool is at fault, and a call says so.
  }
}

function compareFields(
  mapping: Extract<Mapping, { object: unknown }>,
  schema: KnownSchema,
  at: At,
): readonly MappingProblem[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const names = Object.keys(mapping.object);
  const required = Array.isArray(schema.required) ? (schema.required as readonly string[]) : [];
  const missing = required.filter((name) => !names.includes(name)).map((name) => missingField(name, mapping, at));
  return [...missing, ...names.flatMap((name) => compareField(name, mapping, { ...at, schema, properties }))];
}

function missingField(name: string, node: Mapping, at: At): MappingProblem {
  const message = `${at.tool} requires \`${nameBelow(at, name)}\`.`;
  return { code: 'INPUT_MISSING', message, fix: `Add \`${name}\` to the input.`, node };
}

const nameBelow = ({ field }: At, name: string): string => (field === '' ? name : `${field}.${name}`);

interface FieldsAt extends At {
  readonly schema: KnownSchema;
  readonly properties: KnownSchema;
}

function compareField(
  name: string,
  mapping: Extract<Mapping, { object: unknown }>,
  at: FieldsAt,
): readonly MappingProblem[] {
  const item = mapping.object[name];
  const found = Object.hasOwn(at.properties, name) ? at.properties[name] : undefined;
  if (!item) return [];
  if (isObject(found)) return compare(item, found, { ...at, field: nameBelow(at, name) });
  return found === undefined ? unknownField(name, mapping, at).map((problem) => ({ ...problem, node: item })) : [];
}

/** A tool may take more than its schema names, unless it says that it does not. */
function unknownField(
  name: string,
  { object }: Extract<Mapping, { object: unknown }>,
  at: FieldsAt,
): readonly MappingProblem[] {
  const { additionalProperties, patternProperties } = at.schema;
  if (isObject(patternProperties) || (additionalProperties !== undefined && additionalProperties !== false)) return [];
  const meant = closest(
    name,
    Object.keys(at.properties).filter((key) => !Object.hasOwn(object, key)),
  );
  const fix = meant === undefined ? 'Remove it.' : `Did you mean \`${quoteName(meant)}\`?`;
  const shown = `\`${nameBelow(at, name)}\``;
  if (additionalProperties === false) {
    return [{ code: 'INPUT_UNKNOWN', message: `${at.tool} takes no ${shown}.`, fix }];
  }
  if (meant === undefined) return [];
  return [{ level: 'warning', code: 'INPUT_UNKNOWN', message: `${at.tool} names no ${shown} in its schema.`, fix }];
}

function compareItems(list: readonly Mapping[], schema: KnownSchema, at: At): readonly MappingProblem[] {
  const { items } = schema;
  if (!isObject(items)) return [];
  return list.flatMap((item, index) => compare(item, items, { ...at, field: `${at.field}[${index}]` }));
}

/** Returns undefined if the schema permits a type. */
function checkTypes(type: string, node: Mapping, schema: KnownSchema, at: At): readonly MappingProblem[] | undefined {
  const permitted = permittedTypes(schema);
  if (!permitted || permitted.has(type) || isNumber(type, permitted)) return undefined;
  const place = at.field === '' ? 'The input' : `\`${at.field}\``;
  const message = `${place} of ${at.tool} is ${[...permitted].join(' or ')}, and this is ${type}.`;
  return [{ code: 'TYPE_MISMATCH', message, fix: 'Correct or convert the value.', node }];
}

/** A number may be an integer. */
const isNumber = (type: string, permitted: ReadonlySet<string>): boolean =>
  (type === 'integer' || type === 'number') && (permitted.has('number') || permitted.has('integer'));

const CEL_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  int: 'integer',
  double: 'number',
  bool: 'boolean',
  list: 'array',
  map: 'object',
};

/** Returns the types that a computed value can have; undefined if they are not known. */
function typesOfMapping(mapping: Mapping, { scope, context }: At): ReadonlySet<string> | undefined {
  if ('template' in mapping) return new Set(['string']);
  if ('cel' in mapping) {
    const expression = compileValueExpression(mapping.cel);
    const type = 'evaluate' in expression ? CEL_TYPES[expression.type.replace(/<.*/, '')] : undefined;
    return type === undefined ? undefined : new Set([type]);
  }
  const [read] = 'ref' in mapping ? readsIn(mapping) : [];
  const known = read && scope.find(read.name);
  if (!read || !known) return undefined;
  const path = schemaOfPath(schemaOfName(known, context), read.parts);
  return 'schema' in path ? permittedTypes(path.schema) : undefined;
}
