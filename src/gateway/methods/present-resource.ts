import type { Json, JsonObject, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Era } from '../../wire/mcp.ts';
import { isIcon } from './present-tool.ts';

/** Returns a resource for `resources/list` with its public URI. Invalid fields are removed, like in `presentTool`. */
export const presentResource = (target: Target, _era: Era): JsonObject =>
  named(present(target, 'uri', { ...COMMON, size: isSize }), target);

/** Returns a resource template for `resources/templates/list`. */
export const presentTemplate = (target: Target, _era: Era): JsonObject =>
  named(present(target, 'uriTemplate', COMMON), target);

/** Returns a prompt for `prompts/list` with its public name. */
export const presentPrompt = (target: Target, _era: Era): JsonObject =>
  present(target, 'name', { ...NAMED, arguments: areArguments });

type Fields = Readonly<Record<string, (value: unknown) => boolean>>;

const isText = (value: unknown) => typeof value === 'string';
const isTextOrAbsent = (value: unknown) => value === undefined || isText(value);
const isSize = (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value >= 0;

const NAMED: Fields = {
  title: isText,
  description: isText,
  icons: (value) => Array.isArray(value) && value.every(isIcon),
  _meta: isObject,
};
const COMMON: Fields = { ...NAMED, mimeType: isText, annotations: areAnnotations };

function present({ publicName, definition }: Target, key: string, fields: Fields): JsonObject {
  const item: Record<string, Json | undefined> = { ...definition, [key]: publicName };
  for (const [field, isValid] of Object.entries(fields)) {
    if (Object.hasOwn(item, field) && !isValid(item[field])) delete item[field];
  }
  return item;
}

/** Adds the required `name` where a server left it out. */
const named = (item: JsonObject, { name }: Target): JsonObject => (isText(item.name) ? item : { ...item, name });

function areAnnotations(value: unknown): boolean {
  if (!isObject(value) || !isTextOrAbsent(value.lastModified)) return false;
  const { audience = [], priority = 0 } = value;
  const isAudience = Array.isArray(audience) && audience.every((one) => one === 'user' || one === 'assistant');
  return isAudience && typeof priority === 'number' && priority >= 0 && priority <= 1;
}

const areArguments = (value: unknown) => Array.isArray(value) && value.every(isArgument);

function isArgument(value: unknown): boolean {
  if (!isObject(value) || !isText(value.name) || !isTextOrAbsent(value.description)) return false;
  return value.required === undefined || typeof value.required === 'boolean';
}
