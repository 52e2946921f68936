import { toRoot } from '../config/to-root.ts';
import type { Abilities, Answer, JsonObject, Question } from '../core/call.ts';
import { checkedAnswer, REJECTED } from '../core/checked-answer.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import { type Field, readForm } from '../core/form.ts';
import type { AskUser } from '../core/rounds.ts';

/** Who asks, and during which call. */
export interface Asking {
  readonly server: string;
  /** The name that was called. */
  readonly tool: string;
  /** Aborts when the call is cancelled: then nobody waits for the answer. */
  readonly signal: AbortSignal;
}

/** What a server wants to know from the user. */
export type Elicitation = Asking &
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
export interface Sampling extends Asking {
  readonly params: JsonObject;
}

/** A question of any kind, in MCP's own words. */
export interface AskedQuestion extends Asking, Question {}

/** How a program answers what servers ask. Servers are told that they may ask only what has an answer here. */
export interface HostOptions {
  /** Puts a form or a URL to the user. Throwing cancels the call. */
  readonly elicit?: (asked: Elicitation) => ElicitationAnswer | Promise<ElicitationAnswer>;
  /** Lets a model write for a server, within `sampling` of the configuration. What it throws, the server hears. */
  readonly sample?: (asked: Sampling) => JsonObject | Promise<JsonObject>;
  /** The folders, or file:// URIs, the user works in, instead of the configured ones. */
  readonly roots?: (asked: Asking) => readonly string[] | Promise<readonly string[]>;
  readonly hooks?: {
    /** Sees every question first: `false` refuses it, another question takes its place. */
    readonly beforeQuestion?: (
      asked: AskedQuestion,
    ) => Question | false | undefined | Promise<Question | false | undefined>;
    /** Sees every answer last: another answer takes its place. */
    readonly afterQuestion?: (asked: AskedQuestion, answer: Answer) => Answer | undefined | Promise<Answer | undefined>;
  };
}

const FAILED = -32603;

/** What servers are told; undefined when the program answers nothing. */
export function abilitiesOf({ elicit, sample, roots }: HostOptions): Abilities | undefined {
  if (!elicit && !sample && !roots) return undefined;
  const asks = elicit !== undefined;
  return { form: asks, url: asks, sampling: sample !== undefined, samplingTools: false, roots: roots !== undefined };
}

/** Puts the questions of one call to the program, all at once. */
export function hostAsker(options: HostOptions, tool: string): AskUser {
  const { hooks = {} } = options;

  async function answer(asking: Asking, written: Question): Promise<Answer> {
    const changed = await hooks.beforeQuestion?.({ ...asking, ...written });
    if (changed === false) return refusal(written);
    const question = changed ?? written;
    const given = await put(options, asking, question);
    const last = (await hooks.afterQuestion?.({ ...asking, ...question }, given)) ?? given;
    return checkedAnswer(written, last);
  }

  return async function ask(questions, server, signal) {
    const asking = { server, tool, signal };
    const answers = Object.entries(withPlainNumbers(questions)).map(
      async ([key, one]) => [key, await answer(asking, one)] as const,
    );
    return Object.fromEntries(await Promise.all(answers));
  };
}

async function put(options: HostOptions, asking: Asking, { method, params = {} }: Question): Promise<Answer> {
  if (method === 'elicitation/create') {
    return { ...(await options.elicit?.(toElicitation(asking, params))) };
  }
  try {
    if (method === 'sampling/createMessage') return (await options.sample?.({ ...asking, params })) ?? {};
    return { roots: ((await options.roots?.(asking)) ?? []).map(toRoot) };
  } catch (thrown) {
    return { failed: { code: FAILED, message: thrown instanceof Error ? thrown.message : String(thrown) } };
  }
}

function toElicitation(asking: Asking, { mode, message, url, requestedSchema }: JsonObject): Elicitation {
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

const refusal = ({ method }: Question): Answer =>
  method === 'elicitation/create'
    ? { action: 'decline' }
    : { failed: { code: REJECTED, message: 'The request was refused.' } };
