import type { JsonObject } from '../core/call.ts';

/** Result of `tools/call`. Unknown members of MCP objects are kept, here and below. */
export interface CallToolResult extends JsonObject {
  readonly content: readonly ContentBlock[];
  /** JSON that fits the `outputSchema` of the tool. */
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/** A part of a tool result or of a prompt message. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

interface Content extends JsonObject {
  readonly annotations?: Annotations;
  readonly _meta?: JsonObject;
}

export interface TextContent extends Content {
  readonly type: 'text';
  readonly text: string;
}

export interface ImageContent extends Content {
  readonly type: 'image';
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

export interface AudioContent extends Content {
  readonly type: 'audio';
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

/** A resource that can be read with `readResource`. */
export interface ResourceLink extends Content {
  readonly type: 'resource_link';
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

export interface EmbeddedResource extends Content {
  readonly type: 'resource';
  readonly resource: ResourceContents;
}

/** Hints for the display of a content block. */
export interface Annotations extends JsonObject {
  readonly audience?: readonly ('user' | 'assistant')[];
  /** From 0 (least) to 1 (most important). */
  readonly priority?: number;
  readonly lastModified?: string;
}

/** Contents of a resource: `text`, or `blob` in base64. */
export interface ResourceContents extends JsonObject {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
  readonly _meta?: JsonObject;
}

/** Result of `resources/read`. */
export interface ReadResourceResult extends JsonObject {
  readonly contents: readonly ResourceContents[];
  readonly _meta?: JsonObject;
}

/** Result of `prompts/get`. */
export interface GetPromptResult extends JsonObject {
  readonly description?: string;
  readonly messages: readonly PromptMessage[];
  readonly _meta?: JsonObject;
}

export interface PromptMessage extends JsonObject {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock;
}

/** Result of `completion/complete`. */
export interface CompletionResult extends JsonObject {
  readonly completion: Completion;
  readonly _meta?: JsonObject;
}

export interface Completion extends JsonObject {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore?: boolean;
}

/**
 * Returns the text content of a tool result: its text blocks and the text of embedded resources, joined by newlines.
 *
 * @example
 * const { value } = await heddle.call('filesystem.fs_read_file', { path: 'README.md' });
 * console.log(text(value));
 */
export function text({ content = [] }: CallToolResult): string {
  return content.flatMap((block) => textOf(block) ?? []).join('\n');
}

function textOf(block: ContentBlock): string | undefined {
  if (block.type === 'text') return block.text;
  return block.type === 'resource' ? block.resource.text : undefined;
}
