import type { JsonObject, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Reference, Step, Workflow } from '../definition/canonical.ts';
import type { LintName } from './lint-scope.ts';

/** Returns a tool that the caller may call; undefined if there is none of this name. */
export type DescribeTool = (tool: string) => Target | undefined;

/** The schema of a value, as far as it is known. `{}` says nothing. */
export type KnownSchema = JsonObject;

const ANY: KnownSchema = {};
const closed = (properties: Readonly<Record<string, KnownSchema>>): KnownSchema => ({
  type: 'object',
  properties,
  additionalProperties: false,
});

export interface SchemaContext {
  readonly form: Workflow['form'];
  readonly describe: DescribeTool;
}

/** Returns the schema of a name. Steps of the classic form are known by their result alone. */
export function schemaOfName(known: LintName, context: SchemaContext): KnownSchema {
  if (!('step' in known)) return known.schema ?? ANY;
  const result = resultSchema(known.step, context);
  if (context.form === 'classic') return { type: 'object', properties: { result }, additionalProperties: true };
  const output = Object.fromEntries(Object.keys(known.step.output ?? {}).map((key) => [key, ANY]));
  const schema = closed({ ...output, ...STATE, result, ...(known.step.kind === 'tool' && { raw: ANY }) });
  // Steps that hold others have fields of their own, such as `winner` and `iterations`.
  return known.step.kind === 'tool' ? schema : { ...schema, additionalProperties: true };
}

const STATE: Readonly<Record<string, KnownSchema>> = {
  status: { type: 'string' },
  error: { type: 'object' },
  attempts: { type: 'integer' },
  startedAt: { type: 'integer' },
  endedAt: { type: 'integer' },
};

function resultSchema(step: Step, context: SchemaContext): KnownSchema {
  switch (step.kind) {
    case 'tool':
      return callSchema(step.tool, context);
    case 'sequential':
      return lastResult(step.steps, context);
    case 'parallel':
      return parallelSchema(step, context);
    case 'fanout':
      if (step.merge) return callSchema(step.merge.tool, context);
      return step.shape === 'contents' ? { type: 'array' } : FANOUT;
    case 'loop':
      return step.shape === 'list' ? { type: 'array' } : lastResult(step.steps, context);
    case 'approval':
      return approvalSchema(step);
    default:
      return ANY;
  }
}

const DECISION: Readonly<Record<string, KnownSchema>> = {
  approved: { type: 'boolean' },
  by: { type: 'array', items: { type: 'string' } },
  note: { type: 'string' },
  expired: { type: 'boolean' },
};

/** The decision, and the content of the form. */
function approvalSchema({ schema = {} }: Extract<Step, { kind: 'approval' }>): KnownSchema {
  if (isOpaque(schema)) return ANY;
  const { properties, patternProperties, additionalProperties } = schema;
  return {
    ...{ type: 'object', properties: { ...(isObject(properties) && properties), ...DECISION } },
    ...(patternProperties !== undefined && { patternProperties }),
    ...(additionalProperties !== undefined && { additionalProperties }),
  };
}

const INTEGER: KnownSchema = { type: 'integer' };
const FANOUT = closed({ items: { type: 'array' }, ok: INTEGER, failed: INTEGER, total: INTEGER });

function parallelSchema(step: Extract<Step, { kind: 'parallel' }>, context: SchemaContext): KnownSchema {
  if (step.mode === 'majority') return ANY;
  if (step.shape === 'list') return { type: 'array' };
  if (step.shape === 'winner') return closed({ winner: { type: 'string' }, value: ANY });
  return closed(Object.fromEntries(step.branches.map(({ id, steps }) => [id, lastResult(steps, context)])));
}

function lastResult(steps: readonly Step[], context: SchemaContext): KnownSchema {
  const last = steps.at(-1);
  return last && last.if === undefined && last.onError === 'stop' ? resultSchema(last, context) : ANY;
}

/** The result of a call; in the classic form that is the whole tool result. */
function callSchema(tool: string, context: SchemaContext): KnownSchema {
  const structuredContent = outputSchema(tool, context);
  if (context.form === 'rich') return structuredContent;
  return closed({
    ...{ content: { type: 'array' }, isError: { type: 'boolean' }, structuredContent },
    ...{ serverId: { type: 'string' }, latencyMs: { type: 'number' } },
  });
}

function outputSchema(tool: string, { describe }: SchemaContext): KnownSchema {
  const schema = describe(tool)?.definition.outputSchema;
  return isObject(schema) ? schema : ANY;
}

/** The schema of a path; or the first part that the schema does not have. */
export type PathSchema =
  | { readonly schema: KnownSchema }
  | { readonly missing: string; readonly fields: readonly string[]; readonly isCertain: boolean };

/** Follows the parts of a reference in a schema. Stops where the schema says nothing. */
export function schemaOfPath(schema: KnownSchema, parts: Reference['parts']): PathSchema {
  const [part, ...rest] = parts;
  if (part === undefined) return { schema };
  if (isOpaque(schema)) return { schema: ANY };
  if (part === '*') {
    const items = schemaOfPath(itemsOf(schema), rest);
    return 'schema' in items ? { schema: { type: 'array', items: items.schema } } : items;
  }
  if (typeof part === 'number' || permittedTypes(schema)?.has('array')) return schemaOfPath(itemsOf(schema), rest);
  const properties = isObject(schema.properties) ? schema.properties : undefined;
  const found = properties && Object.hasOwn(properties, part) ? properties[part] : undefined;
  if (isObject(found)) return schemaOfPath(found, rest);
  if (!properties || found === true || isObject(schema.patternProperties)) return { schema: ANY };
  if (schema.additionalProperties === true || isObject(schema.additionalProperties)) return { schema: ANY };
  return { missing: part, fields: Object.keys(properties), isCertain: schema.additionalProperties === false };
}

const itemsOf = ({ items }: KnownSchema): KnownSchema => (isObject(items) ? items : ANY);

/** Returns true for a schema whose meaning is not in its own keywords. */
export const isOpaque = (schema: KnownSchema): boolean =>
  ['$ref', '$dynamicRef', 'anyOf', 'oneOf', 'allOf', 'if', 'not'].some((key) => schema[key] !== undefined);

/** Returns the types that a schema permits; undefined if it permits any. */
export function permittedTypes(schema: KnownSchema): ReadonlySet<string> | undefined {
  if (isOpaque(schema)) return undefined;
  if (typeof schema.type === 'string') return new Set([schema.type]);
  return Array.isArray(schema.type) ? new Set(schema.type as readonly string[]) : undefined;
}
