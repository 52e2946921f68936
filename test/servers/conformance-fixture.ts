// The tools, prompts and resources that the conformance suite expects behind a gateway, shared by both eras.
// conformance-fixture-legacy.ts and conformance-fixture-modern.ts serve them.
import type { JsonObject } from '../../src/core/call.ts';

/** An input request to the client during a call, as MCP defines it. */
export interface InputRequest {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params?: JsonObject;
}
export type InputResponses = Readonly<Record<string, JsonObject>>;

/** The context in which a tool runs, the same in both eras. */
export interface ToolContext {
  /** The capabilities that the client declared. */
  readonly capabilities: JsonObject;
  readonly signal: AbortSignal;
  /** Rejects if the client lacks the capability. With `sealed`, a modern server returns a requestState. */
  requestInput(
    inputRequests: Readonly<Record<string, InputRequest>>,
    options?: { readonly sealed?: boolean },
  ): Promise<InputResponses>;
  log(data: string): void;
  /** Sends progress if the request has a progressToken. */
  progress(progress: number): void;
  changeList(list: 'tools' | 'prompts'): void;
  /** Closes the SSE stream of this call, if it has one. The client must reconnect for the result. */
  closeStream(): void;
  /** Continues the call as a task if the client supports tasks. With `required`, other clients get an error. */
  inTask(
    work: (context: ToolContext) => Promise<JsonObject>,
    options?: { readonly required?: boolean },
  ): Promise<JsonObject>;
}

type Run = (input: JsonObject, context: ToolContext) => JsonObject | Promise<JsonObject>;

/** A tool or a prompt: its listed definition and its handler. */
export interface Entry {
  readonly definition: JsonObject & { readonly name: string };
  readonly run: Run;
}

/** A JSON-RPC error that a tool or method responds with. */
export class Failure extends Error {
  readonly code: number;
  readonly data: JsonObject | undefined;

  constructor(code: number, message: string, data?: JsonObject) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const INVALID_PARAMS = -32602;
export const SERVER = { name: 'conformance-fixture', version: '1' };
export const LISTS = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
} as const;

export const text = (value: string): JsonObject => ({ type: 'text', text: value });
export const textResult = (value: string): JsonObject => ({ content: [text(value)] });
export const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** Creates a tool whose input properties are all required. */
export function tool(name: string, description: string, properties: JsonObject, run: Run): Entry {
  const required = Object.keys(properties);
  const inputSchema = { type: 'object', properties, ...(required.length > 0 && { required }) };
  return { definition: { name, description, inputSchema }, run };
}

export const STRING = { type: 'string' } as const;

/** Creates a form elicitation. */
export function form(message: string, properties: JsonObject, required: readonly string[] = []): InputRequest {
  const requestedSchema = { type: 'object', properties, ...(required.length > 0 && { required }) };
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } };
}

/** Creates a sampling request. */
export function sample(prompt: string): InputRequest {
  const messages = [{ role: 'user', content: text(prompt) }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } };
}

/** Returns the capability that the client lacks for an input request; undefined if it has it. */
export function missingCapability(capabilities: JsonObject, { method }: InputRequest): JsonObject | undefined {
  const needed = { 'elicitation/create': 'elicitation', 'sampling/createMessage': 'sampling', 'roots/list': 'roots' };
  return capabilities[needed[method]] === undefined ? { [needed[method]]: {} } : undefined;
}

/** Finds the entry of a name, or throws INVALID_PARAMS. */
export function findEntry(entries: readonly Entry[], name: unknown): Entry {
  const found = entries.find(({ definition }) => definition.name === name);
  if (!found) throw new Failure(INVALID_PARAMS, `There is no ${textOf(name)}.`);
  return found;
}
