/** Tool definitions in the dialects of models: the public API of `heddle/translate`. */
export { type AnthropicTool, fromAnthropic, toAnthropic } from './translate/anthropic.ts';
export { fromGemini } from './translate/from-gemini.ts';
export { fromZod } from './translate/from-zod.ts';
export { type GeminiFunction, toGemini } from './translate/gemini.ts';
export type { Loss, Translated, TranslatedTool } from './translate/loss.ts';
export { fromOpenAi, type OpenAiTool, toOpenAi } from './translate/openai.ts';
export { toOpenAiStrict } from './translate/openai-strict.ts';
export type { McpTool } from './translate/tool.ts';
export { toZod } from './translate/zod.ts';
