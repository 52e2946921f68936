/** The core types of Heddle: a `Call` goes in, a `Result` comes out, and everything between is a `Stage`. */

import type { ApprovalContinuation, ApprovalProof, PendingApproval, UsedApproval } from './call/approval.ts';
import type { Facts, RateLimit, Taint } from './call/facts.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/**
 * The kind of request. A `subscription` stays active after its result: `onProgress` is called for every update, and
 * aborting `signal` ends it. An `extension` is a method of an extension, which a server entry lists.
 */
export type CallKind = 'tool' | 'resource' | 'prompt' | 'completion' | 'subscription' | 'extension';

/** A request as the front end received it. Its name has not been looked up, and no rule has been applied. */
export interface Call {
  readonly id: string;
  readonly kind: CallKind;
  /** The client capabilities of this request; absent means none. */
  readonly capabilities?: ClientCapabilities;
  /** The responses to the input requests of an earlier result; only together with `continuation`. */
  readonly inputResponses?: InputResponses;
  /** The continuation of an earlier result that was not `complete`. */
  readonly continuation?: Continuation;
  /** The caller accepts a `working` result and polls the task itself. */
  readonly acceptsTask?: true;
  /** The client has no tasks, and its request is open: the front end polls the task for it. */
  readonly isClientWaiting?: true;
  /** The public name, `server.tool` or a bare tool name, as the caller wrote it. For resources it is the URI. */
  readonly name: string;
  /** The arguments. For a completion it is `{ref, argument, context}`; for an extension, the params of its method. */
  readonly input: JsonObject;
  /** The client's `_meta` without reserved keys. */
  readonly meta: JsonObject;
  /** Request parameters that no MCP version defines. They are passed to the server unchanged. */
  readonly extraParams?: JsonObject;
  /**
   * The decoded `Mcp-Param-*` headers of a modern HTTP request, by lower-case name. A null value could not be decoded.
   * Absent for transports without headers. `validateInput` compares them with the arguments.
   */
  readonly paramHeaders?: Readonly<Record<string, string | null>> | undefined;
  readonly caller: Caller;
  readonly options: RoutingOptions;
  /** The span of the run that makes this call, as a W3C `traceparent`. */
  readonly parent?: string;
  /** The run and step that make this call. The intent of the call is written only while this process owns the run. */
  readonly fence?: { readonly run: string; readonly epoch: number; readonly path: string };
  /** The user at the terminal approved this call. It counts only from a caller at the CLI that may approve. */
  readonly approved?: 'self';
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Receives the `notifications/message` params of the server during the call, from this level on. */
  readonly log?: { readonly level: string; readonly onMessage: (params: JsonObject) => void } | undefined;
  /** Receives the params of `notifications/elicitation/complete`, often long after the result. */
  readonly onElicitationComplete?: (params: JsonObject) => void;
}

export interface RoutingOptions {
  readonly timeoutMs?: number;
  readonly failover?: boolean;
  readonly preferredServer?: string;
}

/** The params of a `notifications/progress` without its token, unknown fields included. */
export type Progress = JsonObject;

/** A call whose name has been looked up. The target exists and the caller may see it. */
export interface ResolvedCall extends Call {
  readonly target: Target;
  /** The effect of the hooks that ran before the call; absent if none had one. */
  readonly hooked?: HookEffect;
  /** Writes the cost of the call, with its opening record; absent if it costs nothing. Throws BUDGET_EXCEEDED. */
  readonly charge?: () => Promise<void>;
}

/** The effect of hooks on one call. */
export interface HookEffect {
  /** A hook wants an approval, for this reason. */
  readonly asks?: string;
  /** The arguments before a hook changed them. Approvers see both. */
  readonly original?: JsonObject;
}

export type Effect = 'allow' | 'ask' | 'deny';

/** The effect of the policy on one call, with the rule that caused it. */
export interface Decision {
  readonly effect: Effect;
  /** The setting that decided: `permissions.deny: mcp__x`, `policies: no-production`, `mode guarded`, … */
  readonly rule: string;
  readonly reason: string;
  /** The verdicts of rules in shadow mode, which are recorded and have no effect. */
  readonly shadow?: readonly ShadowVerdict[];
  /** The labels of the session when the call was decided; absent if no rule looks at them. */
  readonly taint?: readonly Taint[];
}

/** The effect that a rule in shadow mode would have had. */
export interface ShadowVerdict {
  readonly effect: Effect;
  readonly rule: string;
}

/**
 * A call that no rule denies: it is allowed, needs an approval, or cancels a task. Behind the stage `approve` every call
 * that needs an approval has one. Only decided calls are recorded as intent and reach a server.
 */
export interface DecidedCall extends ResolvedCall {
  readonly decision: Decision;
  /** The approval that this call uses; absent if it needs none. Set by `approve`. */
  readonly approval?: UsedApproval;
  /** The sampling request of a server that needs the approval instead of the call, which has run up to it. */
  readonly sampling?: SamplingSubject;
}

/** A sampling request that needs an approval. A task lists it with each poll, under the same key. */
export interface SamplingSubject {
  readonly server: string;
  readonly task?: { readonly id: string; readonly key: string };
}

export type Role = 'owner' | 'operator' | 'approver' | 'auditor' | 'user';

export interface Caller {
  readonly id: string;
  readonly roles: readonly Role[];
  readonly via: 'gateway' | 'library' | 'cli' | 'console' | 'workflow' | 'code';
  readonly profile?: string;
  /** The agent of the embedding program that makes the call. It shares the identity, session and credentials of `id`. */
  readonly agent?: string;
  /** The credential with a person behind it, such as `key:desk`: only then may the form of the client decide an approval. */
  readonly person?: string;
  /** The client capabilities of this request. Some servers list more tools to clients with more capabilities. */
  readonly capabilities?: ClientCapabilities;
  /** The protocol era of the client's connection; absent if the caller is not an MCP client. */
  readonly era?: 'legacy' | 'modern';
  /** The key of per-session state (logging level); absent when the protocol has no session. */
  readonly session?: string;
}

/** The kind of a catalog entry. */
export type CatalogKind = 'tool' | 'resource' | 'template' | 'prompt';

/** The kind of a target: that of its catalog entry, or `extension` for a method of an extension. */
export type TargetKind = CatalogKind | 'extension';

/** A catalog entry, or a method of an extension: the thing that a public name stands for. */
export interface Target {
  readonly kind: TargetKind;
  /** For a resource its URI, for a template its URI template. */
  readonly publicName: string;
  /** The servers that have it, in order of preference. Never empty. */
  readonly servers: readonly [string, ...string[]];
  /** The name that the servers use. */
  readonly name: string;
  /** For a tool or prompt: the server or pool, and its configured name there. */
  readonly group?: string;
  readonly shownAs?: string;
  /** By server: the tool that replaces this one there, if its name or argument names differ. */
  readonly equivalents?: ReadonlyMap<string, Equivalent>;
  /** The definition exactly as the server listed it. */
  readonly definition: JsonObject;
  /** SHA-256 of the definition's canonical JSON; for a pool, of all its definitions if they differ. */
  readonly digest: string;
  readonly facts: Facts;
  /** For a tool of a pool: the rate limit of each server's own tool, if it has one. */
  readonly rateLimits?: ReadonlyMap<string, RateLimit>;
  /** Warnings for the user: `looks-like: <public name>`, `unprintable`. */
  readonly flags: readonly string[];
  /** The client capability sets that may see this tool, as `capabilitiesKey` numbers; absent means all. */
  readonly onlyFor?: ReadonlySet<number>;
  /** The extension that a client has to declare to see this tool. */
  readonly extension?: string;
  /** By `ui://` URI in the definition of a tool: the name under which clients see it, if that is another. */
  readonly viewNames?: ReadonlyMap<string, string>;
  /** For a resource that its server does not list: the tools that name it. A caller sees it with one of them. */
  readonly namedBy?: readonly Target[];
  /** The reason why it cannot be called. Such a tool is shown to users, and is not listed to clients. */
  readonly invalid?: string | undefined;
  /** For a method of an extension: the known tools of its server. A rule that denies or asks about one holds for it, too. */
  readonly tools?: readonly Target[];
  /** The patterns of a tool's schemas that are not checked, because they cannot be matched in linear time. */
  readonly uncheckedPatterns?: readonly string[];
}

/** The tool that stands for a target at one server of its pool. */
export interface Equivalent {
  readonly name: string;
  /** The configured name at this server, if it differs. */
  readonly shownAs?: string;
  readonly definition: JsonObject;
  /** Argument names: the target's name → the name at this server. */
  readonly rename: Readonly<Record<string, string>>;
}

/** The input requests that a client can handle. */
export interface ClientCapabilities {
  readonly form: boolean;
  readonly url: boolean;
  readonly sampling: boolean;
  readonly samplingTools: boolean;
  readonly roots: boolean;
  /** True if the client sends a notification when its roots change. The modern era has none. */
  readonly rootsListChanged?: boolean;
  /** The extensions that the client declares, by id, with their settings; absent means none. */
  readonly extensions?: Extensions;
}

/** Extensions of MCP by id, such as `io.modelcontextprotocol/ui`, with the settings that one side declares. */
export type Extensions = Readonly<Record<string, JsonObject>>;

/** A request of a server for input during a call, as MCP defines it. */
export interface InputRequest {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params?: JsonObject;
}

/** The response to an input request: MCP's result, or the JSON-RPC error of the client. */
export type InputResponse = JsonObject | { readonly failed: { readonly code: number; readonly message: string } };
export type InputResponses = Readonly<Record<string, InputResponse>>;

/** How an unfinished call goes on. Plain data; the gateway seals it before a client gets it. */
export type Continuation = ServerContinuation | ApprovalContinuation;

/** The continuation of a call that a server has. */
export type ServerContinuation = UnfinishedAtServer & {
  readonly approved?: ApprovalProof;
  /** SHA-256 of the arguments that hooks gave the call when it began; hooks have to give the same again. */
  readonly hooked?: string;
};

type UnfinishedAtServer =
  /**
   * The `requestState` of a stateless server: any replica can go on. `again` marks a state that was used before, which
   * counts as another call.
   */
  | { readonly kind: 'upstream'; readonly server: string; readonly state?: string; readonly again?: true }
  /** A suspended call: the request to a legacy server is still open in this process. The ticket is good for one use. */
  | { readonly kind: 'suspended'; readonly server: string; readonly ticket: string }
  /** A server that refused with -32042 until the user has visited these URL elicitations. */
  | { readonly kind: 'call-again'; readonly server: string; readonly after: readonly string[] }
  | TaskContinuation;

/** A task of a server: any replica can poll it or cancel it. */
export interface TaskContinuation {
  readonly kind: 'task';
  readonly server: string;
  readonly taskId: string;
  /** The time to wait before the next poll. */
  readonly pollMs: number;
  readonly cancels?: true;
  readonly approved?: ApprovalProof;
  readonly hooked?: string;
}

/** The origin of a result; never sent to a client. */
export interface Provenance {
  readonly server: string;
  readonly attempts: number;
  readonly latencyMs: number;
  /** The result comes from the read cache. */
  readonly cached?: true;
  /** How the result differs from the output schema of its tool. */
  readonly mismatch?: string;
}

export type Result =
  /** `value` is the server's result object, verbatim: unknown fields and content types included. */
  | {
      readonly kind: 'complete';
      readonly value: JsonObject;
      readonly isError: boolean;
      readonly provenance: Provenance;
      readonly task?: JsonObject;
    }
  /** The server runs the call as a task. `task` is the MCP task object, here and in the other two kinds. */
  | { readonly kind: 'working'; readonly task: JsonObject; readonly continuation: TaskContinuation }
  /** The call waits for an approver. `approval` tells the caller who can decide, and until when. */
  | { readonly kind: 'waiting'; readonly approval: PendingApproval; readonly continuation: ApprovalContinuation }
  | {
      readonly kind: 'input-required';
      readonly inputRequests: Readonly<Record<string, InputRequest>>;
      readonly continuation: Continuation;
      /** The approval that the form decides; only together with the continuation `approval`. */
      readonly approval?: PendingApproval;
      readonly task?: JsonObject;
      /** Aborts when the server withdraws its input requests; the call goes on without responses. This process only. */
      readonly withdrawn?: AbortSignal;
      /** The JSON-RPC error -32042 that the server sent instead of an input request; older clients get it as it is. */
      readonly refusal?: JsonObject;
    };

export type Handler<C extends Call = Call> = (call: C) => Promise<Result>;
export type Stage<C extends Call = Call> = (call: C, next: Handler<C>) => Promise<Result>;

/** Nests stages around a handler. The first stage is the outermost: it sees the call first and the result last. */
export function compose<C extends Call>(stages: readonly Stage<C>[], handler: Handler<C>): Handler<C> {
  return stages.reduceRight<Handler<C>>((next, stage) => (call) => stage(call, next), handler);
}
