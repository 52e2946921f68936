import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { cutText, MAX_MODEL_DESCRIPTION_CHARS } from '../core/text/cut-text.ts';
import type { AddLoss } from './loss.ts';

/** An MCP tool, with the fields that models use. */
export interface McpTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
}

export interface TextLimits {
  readonly name: RegExp;
  readonly maxNameChars: number;
  /** The limit of the dialect, if it is below 4096 characters. */
  readonly maxDescriptionChars?: number;
}

const CARRIED = new Set(['name', 'description', 'inputSchema']);

/** Returns name and description as a dialect allows them. Lists all other fields as lost. */
export function toTexts(tool: JsonObject, limits: TextLimits, lose: AddLoss): { name: string; description: string } {
  for (const key of Object.keys(tool)) {
    if (!CARRIED.has(key) && tool[key] !== undefined) {
      lose(`/${key}`, key, 'note', 'The dialect has no place for it.');
    }
  }
  return { name: legalName(tool, limits, lose), description: describe(tool, limits, lose) };
}

function legalName({ name }: JsonObject, { name: legal, maxNameChars }: TextLimits, lose: AddLoss): string {
  const original = typeof name === 'string' && name !== '' ? name : 'tool';
  if (legal.test(original)) return original;
  lose('/name', 'name', 'note', 'The dialect does not allow this name.');
  // The digest keeps names distinct that differ in replaced characters only.
  const digest = createHash('sha256').update(original).digest('hex').slice(0, 8);
  const plain = original.slice(0, maxNameChars).replace(/[^a-zA-Z0-9_-]/g, '_');
  return `${/^[a-zA-Z_]/.test(plain) ? '' : '_'}${plain}`.slice(0, maxNameChars - 9).concat('_', digest);
}

function describe({ description, title, name }: JsonObject, limits: TextLimits, lose: AddLoss): string {
  const first = [description, title, name].find((text) => typeof text === 'string' && text !== '') ?? 'tool';
  const text = String(first);
  const { maxDescriptionChars: max = MAX_MODEL_DESCRIPTION_CHARS } = limits;
  if (text.length <= max) return text;
  const by = limits.maxDescriptionChars === undefined ? 'A model gets' : 'The dialect takes';
  lose('/description', 'description', 'note', `${by} ${max} characters; the rest is cut.`);
  return cutText(text, max);
}

/** Makes an MCP tool of a definition whose schema is JSON Schema already. */
export function toMcp(tool: { name?: Json; description?: Json; schema?: Json }): McpTool {
  const { name, description, schema } = tool;
  return {
    name: typeof name === 'string' ? name : 'tool',
    ...(typeof description === 'string' && { description }),
    inputSchema: isObject(schema) ? schema : { type: 'object' },
  };
}
