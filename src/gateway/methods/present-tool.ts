import type { Json, JsonObject, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Era } from '../../wire/mcp.ts';

const MAX_DESCRIPTION_CHARS = 2048;
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/**
 * A tool as clients are given it: as its server wrote it, under its public name.
 * Where a strict client would throw away the whole list because of one tool, the
 * field that is not what the protocol says is left out, or said in its words.
 */
export function presentTool({ publicName, definition }: Target, era: Era): JsonObject {
  const tool: Record<string, Json | undefined> = { ...definition, name: publicName };
  for (const [field, isFine] of Object.entries(FIELDS)) {
    if (Object.hasOwn(tool, field) && !isFine(tool[field], era)) delete tool[field];
  }
  if (typeof tool.description === 'string') tool.description = shortened(tool.description, publicName);
  if (isObject(tool.execution)) tool.execution = presentExecution(tool.execution, era);
  tool.inputSchema = ofObject(definition.inputSchema);
  return tool;
}

/**
 * Leaves out a `taskSupport` that would harm a client. The gateway runs the task of a tool that requires one, and a client of
 * 2025-11-25 would refuse to call such a tool of a server without the `tasks` capability.
 */
function presentExecution(execution: JsonObject, era: Era): JsonObject | undefined {
  const { taskSupport, ...rest } = execution;
  const allowed = era === 'modern' ? ['optional', 'forbidden', 'required'] : ['optional', 'forbidden'];
  if (taskSupport === undefined || isOneOf(allowed, taskSupport)) return execution;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

const isText = (value: unknown) => typeof value === 'string';
const isTextOrAbsent = (value: unknown) => value === undefined || isText(value);

const FIELDS: Readonly<Record<string, (value: unknown, era: Era) => boolean>> = {
  title: isText,
  description: isText,
  annotations: areAnnotations,
  icons: (value) => Array.isArray(value) && value.every(isIcon),
  execution: isObject,
  outputSchema: isOutputSchema,
  _meta: isObject,
};

const isOneOf = (allowed: readonly string[], value: unknown) => isText(value) && allowed.includes(value as string);

function areAnnotations(value: unknown): boolean {
  if (!isObject(value) || !isTextOrAbsent(value.title)) return false;
  return HINTS.every((hint) => value[hint] === undefined || typeof value[hint] === 'boolean');
}

// Anything else could run code or read files where a client opens it.
const ICON_SOURCE = /^(?:https?|data):/i;

export function isIcon(value: unknown): boolean {
  if (
    !isObject(value) ||
    !isText(value.src) ||
    !ICON_SOURCE.test(value.src as string) ||
    !isTextOrAbsent(value.mimeType)
  )
    return false;
  const { sizes, theme } = value;
  const areSizes = sizes === undefined || (Array.isArray(sizes) && sizes.every(isText));
  return areSizes && (theme === undefined || isOneOf(['light', 'dark'], theme));
}

/** Older clients know objects only; newer ones any schema. */
function isOutputSchema(value: unknown, era: Era): boolean {
  if (!isObject(value)) return false;
  if (era === 'modern') return isTextOrAbsent(value.$schema);
  const { type, properties, required } = value;
  if (type !== 'object' || (properties !== undefined && !isObject(properties))) return false;
  if (!Object.values(properties ?? {}).every(isObject)) return false;
  return required === undefined || (Array.isArray(required) && required.every(isText));
}

/** The same schema, saying in so many words that it is of an object, as the protocol wants. */
function ofObject(schema: Json | undefined): JsonObject {
  if (!isObject(schema)) return { type: 'object' };
  const { type, properties, $schema, ...rest } = schema;
  const plain = Object.values(isObject(properties) ? properties : {}).every(isObject);
  if (type === 'object' && plain && isTextOrAbsent($schema)) return schema;
  return {
    ...rest,
    ...(isText($schema) && { $schema }),
    type: 'object',
    ...(isObject(properties) && { properties: Object.fromEntries(Object.entries(properties).map(toObject)) }),
  };
}

/** `true` and `false` as the objects that mean the same. */
const toObject = ([name, schema]: [string, Json | undefined]): [string, JsonObject] => [
  name,
  isObject(schema) ? schema : schema === false ? { not: {} } : {},
];

/** No longer than clients show, the mark included, or they would cut that off. */
export function shortened(description: string, name: string): string {
  if (description.length <= MAX_DESCRIPTION_CHARS) return description;
  const mark = `… [cut; heddle describe ${name} shows all]`;
  const kept = description.slice(0, MAX_DESCRIPTION_CHARS - mark.length);
  const whole = kept.replace(/[\uD800-\uDBFF]$/, ''); // Half a character is none.
  return whole + mark;
}
