/**
 * The vocabulary of Heddle: a `Call` goes in, a `Result` comes out, and every
 * thing in between is a `Stage`. Nothing in this file does I/O.
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/**
 * What is asked for. A `subscription` lasts: `report` hears of every update, and `signal` ends it, before its answer
 * or long after.
 */
export type CallKind = 'tool' | 'resource' | 'prompt' | 'completion' | 'subscription';

/** What a caller asked for, before we know whether it exists or is allowed. */
export interface Call {
  readonly id: string;
  readonly kind: CallKind;
  /** What this caller's client can be asked, in this request; nothing when absent. */
  readonly capabilities?: ClientCapabilities;
  /** Later rounds of a call that was not complete: the answers, where there were questions, and where it stopped. */
  readonly inputResponses?: InputResponses;
  readonly continuation?: Continuation;
  /** Whoever waits for it takes `working` for an answer, and asks again. */
  readonly acceptsTask?: true;
  /** The public name, `server.tool`, or a bare tool name, as the caller wrote it; of resources the URI. */
  readonly name: string;
  /** The arguments; of a completion what MCP asks it with. */
  readonly input: JsonObject;
  /** The client's `_meta` without reserved keys. */
  readonly meta: JsonObject;
  /** What the client said beside: parameters that no version knows yet, for the server alone. */
  readonly extraParams?: JsonObject;
  /**
   * The decoded `Mcp-Param-*` headers of a modern HTTP request, by lower-case name. A null value could not be decoded.
   * Absent for transports without headers. `validateInput` compares them with the arguments.
   */
  readonly paramHeaders?: Readonly<Record<string, string | null>> | undefined;
  readonly caller: Caller;
  readonly options: RoutingOptions;
  /** The call, step or code run that made this one. */
  readonly parent?: string;
  /** The person at the terminal has agreed to this very call; `permit` checks that it came from there. */
  readonly approved?: 'self';
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Hears what the server logs meanwhile, from this level on, in MCP's own words. */
  readonly log?: { readonly level: string; readonly tell: (said: JsonObject) => void } | undefined;
  /** Hears that a page its user was sent to has been visited, in MCP's own words, mostly long after the answer. */
  readonly onElicitationComplete?: (said: JsonObject) => void;
}

export interface RoutingOptions {
  readonly timeoutMs?: number;
  readonly failover?: boolean;
  readonly preferredServer?: string;
}

/** Progress as the server reported it, its token aside: unknown fields included. */
export type Progress = JsonObject;

/** A call whose name has been looked up. Only these reach policy and upstreams. */
export interface ResolvedCall extends Call {
  readonly target: Target;
}

export type Role = 'owner' | 'operator' | 'approver' | 'auditor' | 'user';

export interface Caller {
  readonly id: string;
  readonly roles: readonly Role[];
  readonly via: 'gateway' | 'library' | 'cli' | 'console' | 'workflow' | 'code';
  readonly profile?: string;
  /** What their client can be asked, in this request; some servers show more to those who can be asked more. */
  readonly capabilities?: ClientCapabilities;
  /** The protocol era of their client's connection; absent for callers that are no MCP client. */
  readonly era?: 'legacy' | 'modern';
  /** Keys taint and logging level; the principal alone when the protocol has no session. */
  readonly session?: string;
}

/** What there is to ask for. */
export type TargetKind = 'tool' | 'resource' | 'template' | 'prompt';

/** What a public name stands for. */
export interface Target {
  readonly kind: TargetKind;
  /** Of a resource its URI, of a template the template. */
  readonly publicName: string;
  /** Servers able to answer, in order of preference. Never empty. */
  readonly servers: readonly [string, ...string[]];
  /** The name the servers themselves use. */
  readonly name: string;
  /** Of a tool or prompt: its server or pool, and what it is called there by configuration, whatever its public name. */
  readonly group?: string;
  readonly shownAs?: string;
  /** Those that do the same under another name, or with other names for its arguments. */
  readonly equivalents?: ReadonlyMap<string, Equivalent>;
  /** The tool, resource or prompt exactly as its server wrote it. */
  readonly definition: JsonObject;
  /** SHA-256 of the definition's canonical JSON. */
  readonly digest: string;
  readonly facts: Facts;
  /** Of a pool's tool: how often each server's own may be called, where that is limited. */
  readonly rateLimits?: ReadonlyMap<string, RateLimit>;
  /** What a person should know before trusting it: `looks-like: <public name>`, `unprintable`. */
  readonly flags: readonly string[];
  /** Of what not everybody is shown: what its callers have to be able to be asked, as `abilitiesKey` says it. */
  readonly onlyFor?: ReadonlySet<number>;
  /** Why nobody can call it. Such a tool is shown to people and offered to no program. */
  readonly invalid?: string | undefined;
}

/** What stands for a target at one server. */
export interface Equivalent {
  readonly name: string;
  /** What configuration calls it there, where that is another name. */
  readonly shownAs?: string;
  readonly definition: JsonObject;
  /** By the names of the target's arguments: what they are called there. */
  readonly rename: Readonly<Record<string, string>>;
}

/** What Heddle holds to be true of a tool: configuration first, then the server's word as far as it is trusted. */
export interface Facts {
  readonly category: string;
  readonly riskLevel: 'low' | 'medium' | 'high';
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  /** May run beside other calls of the same tool. */
  readonly concurrent: boolean;
  /** Reaches beyond what is known beforehand: the web, other people. */
  readonly openWorld: boolean;
  readonly requiresApproval: boolean;
  /** Comes with Heddle itself: an in-process object, not merely a name. */
  readonly builtin: boolean;
  readonly timeoutMs?: number;
  readonly rateLimit?: RateLimit;
  /** When another server is asked besides one that has not answered yet. */
  readonly hedgeAfterMs?: number;
}

export interface RateLimit {
  readonly maxCalls: number;
  readonly windowMs: number;
}

/** What the user behind a client can be asked. */
export interface ClientCapabilities {
  readonly form: boolean;
  readonly url: boolean;
  readonly sampling: boolean;
  readonly samplingTools: boolean;
  readonly roots: boolean;
}

/** Something a server wants to know in the middle of a call, in MCP's own words. */
export interface InputRequest {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params?: JsonObject;
}

/** What the user's side says to a question: MCP's result, or that its client could not put it. */
export type InputResponse = JsonObject | { readonly failed: { readonly code: number; readonly message: string } };
export type InputResponses = Readonly<Record<string, InputResponse>>;

/** How a call that stopped to ask goes on. Plain data; only the gateway seals it for a client. */
export type Continuation =
  /** A stateless server: any replica can go on. `again` when it was gone on with before: that is a call of its own. */
  | { readonly kind: 'upstream'; readonly server: string; readonly state?: string; readonly again?: true }
  /** A server that asked in the middle of an open request: this process, once. */
  | { readonly kind: 'parked'; readonly server: string; readonly ticket: string }
  /** A server that refused until the user has visited its URLs. */
  | { readonly kind: 'call-again'; readonly server: string; readonly after: readonly string[] }
  | TaskContinuation;

/** A server that goes on by itself: any replica can ask how far it is, or tell it to stop. */
export interface TaskContinuation {
  readonly kind: 'task';
  readonly server: string;
  readonly taskId: string;
  /** How long to wait before it is asked again. */
  readonly pollMs: number;
  readonly cancels?: true;
}

/** Who really answered; never put on the wire. */
export interface Provenance {
  readonly server: string;
  readonly attempts: number;
  readonly latencyMs: number;
  /** The server said this before, and that it stays good for a while; it was not asked again. */
  readonly cached?: true;
}

export type Result =
  /** `value` is the upstream's own result object, verbatim: unknown fields and content types included. */
  | {
      readonly kind: 'complete';
      readonly value: JsonObject;
      readonly isError: boolean;
      readonly provenance: Provenance;
      readonly task?: JsonObject;
    }
  /** The server goes on by itself. `task` is what it says of that, in MCP's own words, here and where it asks or ends. */
  | { readonly kind: 'working'; readonly task: JsonObject; readonly continuation: TaskContinuation }
  | {
      readonly kind: 'input-required';
      readonly inputRequests: Readonly<Record<string, InputRequest>>;
      readonly continuation: Continuation;
      readonly task?: JsonObject;
      /** Aborts when the server no longer wants to know. In this process only: whoever waits for a user goes on without. */
      readonly withdrawn?: AbortSignal;
      /** What the server said instead of asking, as a JSON-RPC error: older clients know what it means. */
      readonly refusal?: JsonObject;
    };

export type Handler<C extends Call = Call> = (call: C) => Promise<Result>;
export type Stage<C extends Call = Call> = (call: C, next: Handler<C>) => Promise<Result>;

/** The first stage is the outermost: it sees the call first and the result last. */
export function compose<C extends Call>(stages: readonly Stage<C>[], handler: Handler<C>): Handler<C> {
  return stages.reduceRight<Handler<C>>((next, stage) => (call) => stage(call, next), handler);
}
