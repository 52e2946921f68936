import { toRoot } from '../config/read/to-root.ts';
import { checkInputResponse, REJECTED } from '../core/call/check-input-response.ts';
import { type Field, readForm } from '../core/call/form.ts';
import type { AskUser } from '../core/call/run-to-completion.ts';
import type { ClientCapabilities, InputRequest, InputResponse, JsonObject } from '../core/call.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import { INTERNAL_ERROR } from '../wire/mcp.ts';

/** Who asks, and during which call. */
export interface ElicitationContext {
  readonly server: string;
  /** The name that was called. */
  readonly tool: string;
  /** Aborts when the call is cancelled: then nobody waits for the answer. */
  readonly signal: AbortSignal;
}

/** What a server wants to know from the user. */
export type Elicitation = ElicitationContext &
  (
    | {
        readonly mode: 'form';
        readonly message: string;
        /** The form as JSON Schema, and the same as a list. No field asks for a secret. */
        readonly schema: JsonObject;
        readonly fields: readonly Field[];
      }
    | {
        readonly mode: 'url';
        readonly message: string;
        /** To be shown, never opened without the user's word. */
        readonly url: string;
        readonly host: string;
      }
  );

/** What the user says. The content of a form is checked, and what is left out takes its default. */
export type ElicitationAnswer =
  | { readonly action: 'accept'; readonly content?: JsonObject }
  | { readonly action: 'decline' | 'cancel' };

/** What a server wants the user's model to write: `params` is MCP's `sampling/createMessage`. */
export interface Sampling extends ElicitationContext {
  readonly params: JsonObject;
}

/** A question of any kind, in MCP's own words. */
export interface HostInputRequest extends ElicitationContext, InputRequest {}

/** How a program answers what servers ask. Servers are told that they may ask only what has an answer here. */
export interface HostOptions {
  /** Puts a form or a URL to the user. Throwing cancels the call. */
  readonly onElicitation?: (asked: Elicitation) => ElicitationAnswer | Promise<ElicitationAnswer>;
  /** Lets a model write for a server, within `sampling` of the configuration. What it throws, the server hears. */
  readonly onSampling?: (asked: Sampling) => JsonObject | Promise<JsonObject>;
  /** The folders, or file:// URIs, the user works in, instead of the configured ones. */
  readonly onRoots?: (asked: ElicitationContext) => readonly string[] | Promise<readonly string[]>;
  readonly hooks?: {
    /** Sees every question first: `false` refuses it, another question takes its place. */
    readonly beforeQuestion?: (
      asked: HostInputRequest,
    ) => InputRequest | false | undefined | Promise<InputRequest | false | undefined>;
    /** Sees every answer last: another answer takes its place. */
    readonly afterQuestion?: (
      asked: HostInputRequest,
      answer: InputResponse,
    ) => InputResponse | undefined | Promise<InputResponse | undefined>;
  };
}

/** What servers are told; undefined when the program answers nothing. */
export function capabilitiesOfHost({
  onElicitation,
  onSampling,
  onRoots,
}: HostOptions): ClientCapabilities | undefined {
  if (!onElicitation && !onSampling && !onRoots) return undefined;
  const asks = onElicitation !== undefined;
  return {
    form: asks,
    url: asks,
    sampling: onSampling !== undefined,
    samplingTools: false,
    roots: onRoots !== undefined,
  };
}

/** Puts the questions of one call to the program, all at once. */
export function hostAsker(options: HostOptions, tool: string): AskUser {
  const { hooks = {} } = options;

  async function answer(asking: ElicitationContext, written: InputRequest): Promise<InputResponse> {
    const changed = await hooks.beforeQuestion?.({ ...asking, ...written });
    if (changed === false) return refusal(written);
    const question = changed ?? written;
    const given = await put(options, asking, question);
    const last = (await hooks.afterQuestion?.({ ...asking, ...question }, given)) ?? given;
    return checkInputResponse(written, last);
  }

  return async function ask(questions, server, signal) {
    const asking = { server, tool, signal };
    const answers = Object.entries(withPlainNumbers(questions)).map(
      async ([key, one]) => [key, await answer(asking, one)] as const,
    );
    return Object.fromEntries(await Promise.all(answers));
  };
}

async function put(
  options: HostOptions,
  asking: ElicitationContext,
  { method, params = {} }: InputRequest,
): Promise<InputResponse> {
  if (method === 'elicitation/create') {
    return { ...(await options.onElicitation?.(toElicitation(asking, params))) };
  }
  try {
    if (method === 'sampling/createMessage') return (await options.onSampling?.({ ...asking, params })) ?? {};
    return { roots: ((await options.onRoots?.(asking)) ?? []).map(toRoot) };
  } catch (thrown) {
    return { failed: { code: INTERNAL_ERROR, message: thrown instanceof Error ? thrown.message : String(thrown) } };
  }
}

function toElicitation(asking: ElicitationContext, { mode, message, url, requestedSchema }: JsonObject): Elicitation {
  const about = { ...asking, message: String(message) };
  if (mode === 'url') {
    const { href, host } = new URL(String(url)); // What was written may read otherwise than it is followed.
    return { ...about, mode, url: href, host };
  }
  const fields = readForm(requestedSchema);
  return {
    ...about,
    mode: 'form',
    schema: requestedSchema as JsonObject,
    fields: typeof fields === 'string' ? [] : fields,
  };
}

const refusal = ({ method }: InputRequest): InputResponse =>
  method === 'elicitation/create'
    ? { action: 'decline' }
    : { failed: { code: REJECTED, message: 'The request was refused.' } };
