import type { CallKind, Effect, InputRequest, InputResponse, JsonObject, Role } from '../call.ts';
import type { Approval } from './approval.ts';

/** The call that a hook is about. */
export interface HookedCall {
  readonly id: string;
  readonly kind: CallKind;
  /** The public name. */
  readonly name: string;
  readonly servers: readonly string[];
  readonly caller: {
    readonly id: string;
    readonly roles: readonly Role[];
    readonly via: string;
    readonly profile?: string;
    readonly agent?: string;
  };
  /** The exact arguments, as earlier hooks changed them. */
  readonly arguments: JsonObject;
}

/** The JSON that a hook gets. Commands read it from stdin, webhooks as the body of a POST, functions as a parameter. */
export type HookEvent =
  | { readonly event: 'beforeCall'; readonly call: HookedCall }
  | {
      readonly event: 'afterCall';
      readonly call: HookedCall;
      readonly server: string;
      /** The result of the server, verbatim. */
      readonly result: JsonObject;
      readonly isError: boolean;
    }
  | {
      readonly event: 'beforeInputRequest';
      readonly call: HookedCall;
      readonly server: string;
      readonly request: InputRequest;
    }
  | {
      readonly event: 'afterInputResponse';
      readonly call: HookedCall;
      readonly server: string;
      readonly response: InputResponse;
    }
  | { readonly event: 'onApproval'; readonly approval: Approval };

export type HookEventName = HookEvent['event'];

/** The verdict of a hook. No verdict, and `allow`, change nothing: the rules still decide. */
export interface HookVerdict {
  /** `ask` only before a call: it then needs an approval. */
  readonly effect?: Effect;
  /** Shown to the caller, at most 500 characters. */
  readonly reason?: string;
  /** Only before a call: the arguments to use instead. They are validated, decided and approved like any others. */
  readonly arguments?: JsonObject;
}

/** The context of a hook function. */
export interface HookContext {
  /** Aborts when the call is cancelled. The verdict is discarded then. */
  readonly signal: AbortSignal;
}

/** A function that runs for one kind of event. Throwing denies the call. */
export type HookFunction<Name extends HookEventName = HookEventName> = (
  event: Extract<HookEvent, { readonly event: Name }>,
  context: HookContext,
) => HookVerdict | undefined | Promise<HookVerdict | undefined>;

/** The hooks of a program that embeds Heddle. They run after those of the configuration. */
export interface HookFunctions {
  /** May deny a call, ask for an approval or change its arguments. */
  readonly beforeCall?: HookFunction<'beforeCall'>;
  /** May withhold the result of a call. */
  readonly afterCall?: HookFunction<'afterCall'>;
  /** May refuse an input request of a server. */
  readonly beforeInputRequest?: HookFunction<'beforeInputRequest'>;
  /** May withhold an input response from the server. */
  readonly afterInputResponse?: HookFunction<'afterInputResponse'>;
  /** Observes each change of an approval. */
  readonly onApproval?: (
    event: Extract<HookEvent, { readonly event: 'onApproval' }>,
    context: HookContext,
  ) => void | Promise<void>;
}
