// What the conformance suite wants to find behind a gateway, told once for both eras: conformance-fixture-legacy.ts
// and conformance-fixture-modern.ts say it in the words of theirs.
import type { JsonObject } from '../../src/core/call.ts';

/** Something to find out from the client's side in the middle of a call, in MCP's own words. */
export interface Question {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params?: JsonObject;
}
export type Answers = Readonly<Record<string, JsonObject>>;

/** One call as a tool sees it, whatever era it came in. */
export interface Round {
  /** What the client said that it can do. */
  readonly capabilities: JsonObject;
  readonly signal: AbortSignal;
  /** Refuses when the client cannot be asked. `sealed`: a stateless server gives its client a state to bring back. */
  ask(questions: Readonly<Record<string, Question>>, options?: { readonly sealed?: boolean }): Promise<Answers>;
  log(data: string): void;
  /** Said only to a client that wants to know. */
  progress(progress: number): void;
  changed(list: 'tools' | 'prompts'): void;
  /** Ends the stream of this call early, where it has one of its own: the client has to come back for the answer. */
  hangUp(): void;
  /** Goes on with the call as a task, for clients that know tasks; `required`: for no others. */
  inTask(work: (round: Round) => Promise<JsonObject>, options?: { readonly required?: boolean }): Promise<JsonObject>;
}

type Run = (input: JsonObject, round: Round) => JsonObject | Promise<JsonObject>;

/** A tool or a prompt: as it is listed, and what it does. */
export interface Offer {
  readonly definition: JsonObject & { readonly name: string };
  readonly run: Run;
}

/** A JSON-RPC error that a tool or a method wants to answer with. */
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

export const text = (words: string): JsonObject => ({ type: 'text', text: words });
export const said = (words: string): JsonObject => ({ content: [text(words)] });
export const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** A tool by its name, what it is for, and the properties of its input, all of them required unless `optional`. */
export function tool(name: string, about: string, properties: JsonObject, run: Run): Offer {
  const required = Object.keys(properties);
  const inputSchema = { type: 'object', properties, ...(required.length > 0 && { required }) };
  return { definition: { name, description: about, inputSchema }, run };
}

export const STRING = { type: 'string' } as const;

/** A form for the user. */
export function form(message: string, properties: JsonObject, required: readonly string[] = []): Question {
  const requestedSchema = { type: 'object', properties, ...(required.length > 0 && { required }) };
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } };
}

/** A question for the client's model. */
export function sample(prompt: string): Question {
  const messages = [{ role: 'user', content: text(prompt) }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } };
}

/** What the client must be able to do to be asked this; nothing when it is. */
export function lacking(capabilities: JsonObject, { method }: Question): JsonObject | undefined {
  const needed = { 'elicitation/create': 'elicitation', 'sampling/createMessage': 'sampling', 'roots/list': 'roots' };
  return capabilities[needed[method]] === undefined ? { [needed[method]]: {} } : undefined;
}

/** The offer of this name. */
export function named(offers: readonly Offer[], name: unknown): Offer {
  const found = offers.find(({ definition }) => definition.name === name);
  if (!found) throw new Failure(INVALID_PARAMS, `There is no ${textOf(name)}.`);
  return found;
}
