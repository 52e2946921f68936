import { toRoot } from '../config/read/to-root.ts';
import { checkInputResponse } from '../core/call/check-input-response.ts';
import { type Field, readForm } from '../core/call/form.ts';
import type { AskUser } from '../core/call/run-to-completion.ts';
import type { ClientCapabilities, InputRequest, InputResponse, JsonObject } from '../core/call.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import type { Approval } from '../core/records/approval.ts';
import type { HookFunctions } from '../core/records/hook.ts';
import { INTERNAL_ERROR } from '../wire/mcp.ts';
import type { OptionKeys } from './check-options.ts';

/** The server and the call that an input request belongs to. */
export interface ElicitationContext {
  readonly server: string;
  /** The name that the program called. */
  readonly tool: string;
  /** The agent that called it. */
  readonly agent?: string;
  /** Aborts when the call is cancelled. The response is discarded then. */
  readonly signal: AbortSignal;
}

/** An `elicitation/create` request of a server. */
export type Elicitation = ElicitationContext &
  (
    | {
        readonly mode: 'form';
        readonly message: string;
        /** The form as JSON Schema. A form with fields for secrets is rejected before. */
        readonly schema: JsonObject;
        /** The same form as a list of fields. */
        readonly fields: readonly Field[];
      }
    | {
        readonly mode: 'url';
        readonly message: string;
        /** Show it to the user. Open it only with the user's consent. */
        readonly url: string;
        readonly host: string;
      }
  );

/** The user's response. The content of a form is validated; missing fields take their defaults. */
export type ElicitationResponse =
  | { readonly action: 'accept'; readonly content?: JsonObject }
  | { readonly action: 'decline' | 'cancel' };

/** A `sampling/createMessage` request of a server, with the `params` of MCP. */
export interface Sampling extends ElicitationContext {
  readonly params: JsonObject;
}

/** The decision of the program about a call of its own. Without `approve` the approval stays pending. */
export interface ApprovalResponse {
  readonly approve: boolean;
  /** The name in which the program decides, as in `approvals.approve`. */
  readonly by?: string;
  /** A rejection without a note gets one. */
  readonly note?: string;
  /** The content of the form of a workflow's approval step. */
  readonly content?: JsonObject;
}

/** Functions that answer input requests. Servers see the capabilities of the functions that are given. */
export interface HostOptions {
  /** Shows a form or a URL to the user. Throwing cancels the call. */
  readonly onElicitation?: (elicitation: Elicitation) => ElicitationResponse | Promise<ElicitationResponse>;
  /** Samples a model, within the limits of the setting `sampling`. The server receives what it throws as an error. */
  readonly onSampling?: (sampling: Sampling) => JsonObject | Promise<JsonObject>;
  /** Returns the roots of the user as folders or `file://` URIs, instead of the configured ones. */
  readonly onRoots?: (context: ElicitationContext) => readonly string[] | Promise<readonly string[]>;
  /**
   * Decides on a call of the program that needs an approval, with the exact arguments. Nothing returned leaves it pending:
   * the call fails with APPROVAL_PENDING. Not called if the program may not approve the call alone. If the rule lists names
   * of the program (`library/<name>`), it is called until enough of them have decided.
   */
  readonly onApprovalRequest?: (
    approval: Approval,
    context: { readonly signal: AbortSignal },
  ) => ApprovalResponse | undefined | Promise<ApprovalResponse | undefined>;
}

export const HOOK_KEYS: OptionKeys<HookFunctions> = {
  beforeCall: true,
  afterCall: true,
  beforeInputRequest: true,
  afterInputResponse: true,
  onApproval: true,
};

/** Returns the client capabilities of the program; undefined if it answers no input requests. */
export function capabilitiesOfHost({
  onElicitation,
  onSampling,
  onRoots,
}: HostOptions): ClientCapabilities | undefined {
  if (!onElicitation && !onSampling && !onRoots) return undefined;
  const elicits = onElicitation !== undefined;
  return {
    form: elicits,
    url: elicits,
    sampling: onSampling !== undefined,
    samplingTools: false,
    roots: onRoots !== undefined,
    ...(onRoots && { rootsListChanged: true }),
  };
}

/** Returns a function that passes the input requests of one call to the program, all at once. */
export function hostInput(options: HostOptions, tool: string, agent?: string): AskUser {
  return async function ask(inputRequests, server, signal) {
    const context = { server, tool, signal, ...(agent !== undefined && { agent }) };
    const responses = Object.entries(withPlainNumbers(inputRequests)).map(
      async ([key, request]) =>
        [key, checkInputResponse(request, await runHandler(options, context, request))] as const,
    );
    return Object.fromEntries(await Promise.all(responses));
  };
}

async function runHandler(
  options: HostOptions,
  context: ElicitationContext,
  { method, params = {} }: InputRequest,
): Promise<InputResponse> {
  if (method === 'elicitation/create') {
    return { ...(await options.onElicitation?.(toElicitation(context, params))) };
  }
  try {
    if (method === 'sampling/createMessage') return (await options.onSampling?.({ ...context, params })) ?? {};
    return { roots: ((await options.onRoots?.(context)) ?? []).map(toRoot) };
  } catch (thrown) {
    return { failed: { code: INTERNAL_ERROR, message: thrown instanceof Error ? thrown.message : String(thrown) } };
  }
}

function toElicitation(context: ElicitationContext, { mode, message, url, requestedSchema }: JsonObject): Elicitation {
  const common = { ...context, message: String(message) };
  if (mode === 'url') {
    const { href, host } = new URL(String(url)); // Normalised: the written form may show another host to the user.
    return { ...common, mode, url: href, host };
  }
  const fields = readForm(requestedSchema);
  return {
    ...common,
    mode: 'form',
    schema: requestedSchema as JsonObject,
    fields: typeof fields === 'string' ? [] : fields,
  };
}
