import type { Json, JsonObject, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Era } from '../../wire/mcp.ts';

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/**
 * Returns a tool for `tools/list`: the server's definition with its public name. Fields that violate the MCP schema are
 * removed or corrected, because a strict client would reject the whole list.
 */
export function presentTool({ publicName, definition, viewNames }: Target, era: Era): JsonObject {
  const tool: Record<string, Json | undefined> = { ...definition, name: publicName };
  for (const [field, isValid] of Object.entries(FIELDS)) {
    if (Object.hasOwn(tool, field) && !isValid(tool[field], era)) delete tool[field];
  }
  if (isObject(tool.execution)) tool.execution = presentExecution(tool.execution, era);
  tool.inputSchema = toObjectSchema(definition.inputSchema);
  if (viewNames && isObject(tool._meta)) tool._meta = withViewNames(tool._meta, viewNames);
  return tool;
}

/** Replaces the `ui://` URIs of views that have another name behind Heddle. */
function withViewNames(meta: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  const named = (uri: Json | undefined) => (typeof uri === 'string' ? (names.get(uri) ?? uri) : uri);
  const { ui, 'ui/resourceUri': older } = meta;
  return {
    ...meta,
    ...(isObject(ui) && ui.resourceUri !== undefined && { ui: { ...ui, resourceUri: named(ui.resourceUri) } }),
    ...(older !== undefined && { 'ui/resourceUri': named(older) }),
  };
}

/**
 * Removes `taskSupport: required` for legacy clients, and invalid values. The gateway itself runs the task of such a
 * tool. A 2025-11-25 client would refuse to call it, because the gateway declares no `tasks` capability.
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

// Other schemes, such as javascript: or file:, could run code or read files in the client.
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

/** Tests an output schema. Legacy clients accept only object schemas, modern clients any schema. */
function isOutputSchema(value: unknown, era: Era): boolean {
  if (!isObject(value)) return false;
  if (era === 'modern') return isTextOrAbsent(value.$schema);
  const { type, properties, required } = value;
  if (type !== 'object' || (properties !== undefined && !isObject(properties))) return false;
  if (!Object.values(properties ?? {}).every(isObject)) return false;
  return required === undefined || (Array.isArray(required) && required.every(isText));
}

/** Returns the schema with `type: object`, which MCP requires. */
function toObjectSchema(schema: Json | undefined): JsonObject {
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

/** Replaces the boolean schemas `true` and `false` by the equivalent objects `{}` and `{ not: {} }`. */
const toObject = ([name, schema]: [string, Json | undefined]): [string, JsonObject] => [
  name,
  isObject(schema) ? schema : schema === false ? { not: {} } : {},
];
