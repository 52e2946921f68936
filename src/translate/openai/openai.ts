import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { plainInput } from '../encode/plain-input.ts';
import { lossBook, type Translated, type TranslatedTool } from '../loss.ts';
import { type McpTool, type TextLimits, toMcp, toTexts } from '../tool.ts';

export interface OpenAiTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: JsonObject;
    readonly strict?: boolean;
  };
}

export const OPENAI_TEXTS: TextLimits = {
  name: /^[a-zA-Z0-9_-]{1,64}$/,
  maxNameChars: 64,
  maxDescriptionChars: 1_024,
};

const CARRIED = new Set(['name', 'description', 'parameters', 'strict', 'type']);

/** Converts a tool for OpenAI without `strict`. The schema is kept nearly whole; the model may deviate from it. */
export function toOpenAi(tool: JsonObject): TranslatedTool<OpenAiTool> {
  const { add, all } = lossBook();
  const texts = toTexts(tool, OPENAI_TEXTS, add);
  const { schema, toArguments } = plainInput(tool.inputSchema, { arraysNeedItems: true }, add);
  return { value: { type: 'function', function: { ...texts, parameters: schema } }, lost: all(), toArguments };
}

/** Converts an OpenAI function, in either of its two notations, to an MCP tool. */
export function fromOpenAi(tool: JsonObject): Translated<McpTool> {
  const { add, all } = lossBook();
  const isNested = isObject(tool.function);
  const body: JsonObject = isNested ? (tool.function as JsonObject) : tool;
  const at = isNested ? '/function' : '';
  for (const key of Object.keys(body)) {
    if (!CARRIED.has(key)) add(`${at}/${key}`, key, 'note', 'MCP has no place for it.');
  }
  if (body.strict === true) add(`${at}/strict`, 'strict', 'note', 'MCP cannot ask a model to keep to the schema.');
  const schema: Json | undefined = body.parameters ?? { type: 'object' };
  return { value: toMcp({ name: body.name as Json, description: body.description as Json, schema }), lost: all() };
}
