import type { Json, JsonObject } from '../core/call.ts';
import { plainInput } from './encode/plain-input.ts';
import { lossBook, type Translated, type TranslatedTool } from './loss.ts';
import { type McpTool, type TextLimits, toMcp, toTexts } from './tool.ts';

export interface AnthropicTool {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: JsonObject;
}

const TEXTS: TextLimits = { name: /^[a-zA-Z0-9_-]{1,128}$/, maxNameChars: 128 };
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
const CARRIED = new Set(['name', 'description', 'input_schema']);

/** Converts a tool for Claude: JSON Schema 2020-12 with an object at the root. */
export function toAnthropic(tool: JsonObject): TranslatedTool<AnthropicTool> {
  const { add, all } = lossBook();
  const texts = toTexts(tool, TEXTS, add);
  const { schema, toArguments } = plainInput(tool.inputSchema, { propertyName: PROPERTY_NAME }, add);
  return { value: { ...texts, input_schema: schema }, lost: all(), toArguments };
}

/** Converts a tool of Claude to an MCP tool. */
export function fromAnthropic(tool: JsonObject): Translated<McpTool> {
  const { add, all } = lossBook();
  for (const key of Object.keys(tool)) {
    if (!CARRIED.has(key) && tool[key] !== undefined) add(`/${key}`, key, 'note', 'MCP has no place for it.');
  }
  const { name, description, input_schema: schema } = tool as { [key: string]: Json };
  return { value: toMcp({ name, description, schema } as Parameters<typeof toMcp>[0]), lost: all() };
}
