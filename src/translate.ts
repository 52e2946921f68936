/** The public API of `heddle/translate`: conversion of tool definitions between model vendors. */
export { type AnthropicTool, fromAnthropic, toAnthropic } from './translate/anthropic.ts';
export { fromGemini } from './translate/gemini/from-gemini.ts';
export { type GeminiFunction, toGemini } from './translate/gemini/gemini.ts';
export type { Loss, Translated, TranslatedTool } from './translate/loss.ts';
export { fromOpenAi, type OpenAiTool, toOpenAi } from './translate/openai/openai.ts';
export { toOpenAiStrict } from './translate/openai/openai-strict.ts';
export type { McpTool } from './translate/tool.ts';
export { fromZod } from './translate/zod/from-zod.ts';
export { toZod } from './translate/zod/zod.ts';
