import type { PendingApproval } from '../core/call/approval.ts';
import type { Call, Continuation, InputResponses, JsonObject, Result, Target } from '../core/call.ts';
import type { ErrorCode } from '../core/error-codes.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import type { Run } from '../core/records/run.ts';
import type { RunInputRequest } from '../core/records/workflow-api.ts';

/** The prefix of the routes by which a command uses a running gateway. Each takes a POST with a JSON object. */
export const COMMAND_ROUTES = '/api/command/';

/** The header with which a command proves that it can read the gateway's note. */
export const COMMAND_PROOF = 'heddle-command-proof';

/** The deepest nesting of a body or line. Arguments and results, which may have 128 levels, are inside of it. */
export const MAX_COMMAND_DEPTH = 256;

export const COMMAND_MEDIA_TYPE = 'application/x-ndjson';

/** The names of the routes: the methods of Heddle that commands use. */
export type CommandRoute =
  | 'dispatch'
  | 'list'
  | 'describe'
  | 'known'
  | 'search'
  | 'categories'
  | 'hidden-by'
  | 'servers'
  | 'connect'
  | 'approval'
  | 'decide'
  | 'settled'
  | RunRoute;

/** The routes about workflows and runs. */
export type RunRoute =
  | 'workflows'
  | 'workflow'
  | 'lint'
  | 'plan'
  | 'chart'
  | 'start'
  | 'respond'
  | 'runs'
  | 'run'
  | 'events'
  | 'ended'
  | 'cancel'
  | 'resume'
  | 'retry'
  | 'resolve';

/**
 * A line of a response: JSON with one of these fields. The last line has `result` or `error`. After the result
 * `input-required` the response stays open until the command closes it, and `withdrawn` may follow.
 */
export interface CommandMessage {
  readonly progress?: JsonObject;
  /** The names of the servers that are starting. */
  readonly starting?: readonly string[];
  /** The tool of a call. It says which error the loss of the gateway is. */
  readonly target?: CalledTarget;
  /** True when the server has withdrawn its input requests. */
  readonly withdrawn?: true;
  /** The run that was started. */
  readonly run?: Run;
  /** A prompt for the user of the command, who responds with the route `respond`. */
  readonly prompt?: CommandPrompt;
  readonly result?: unknown;
  readonly error?: WireError;
}

/** A prompt for the user: an approval of the workflow's tool, or an input request of a step. */
export interface CommandPrompt {
  readonly key: string;
  readonly approval?: PendingApproval;
  readonly inputRequest?: RunInputRequest;
}

export interface CalledTarget {
  readonly name: string;
  readonly server: string;
  readonly repeatable: boolean;
}

/** The part of a call that a command sends. The gateway adds the caller and the signal. */
export type WireCall = Pick<Call, 'id' | 'kind' | 'name' | 'input' | 'meta' | 'options'> & {
  readonly acceptsTask?: true;
  readonly approved?: 'self';
  readonly continuation?: Continuation;
  readonly inputResponses?: InputResponses;
  /** True to get lines of progress. */
  readonly progress?: true;
  /** The session of the command: its process. */
  readonly session?: string;
};

/** Returns the part of a call that is sent. */
export function toWireCall(call: Call): WireCall {
  const { id, kind, name, input, meta, options, acceptsTask, approved, continuation, inputResponses } = call;
  return {
    ...{ id, kind, name, input, meta, options },
    ...(acceptsTask && { acceptsTask }),
    ...(approved && { approved }),
    ...(continuation && { continuation }),
    ...(inputResponses && { inputResponses }),
    ...(call.onProgress && { progress: true }),
    ...(call.caller.session !== undefined && { session: call.caller.session }),
  };
}

/** The part of a target that commands read. Its maps and sets concern calls, which the gateway makes itself. */
export type WireTarget = Omit<Target, 'equivalents' | 'rateLimits' | 'onlyFor'>;

export function toWireTarget({ equivalents: _, rateLimits: __, onlyFor: ___, ...target }: Target): WireTarget {
  return target;
}

/** A result without its signal. */
export type WireResult = Result extends infer R ? (R extends Result ? Omit<R, 'withdrawn'> : never) : never;

export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly fix: string;
  readonly details: JsonObject;
  readonly delivered?: 'no' | 'maybe';
  /** The stack trace of a bug in Heddle, for its report. */
  readonly stack?: string;
}

export function toWireError(thrown: unknown): WireError {
  const error = HeddleError.from(thrown);
  const { code, message, fix, details, cause } = error;
  return {
    ...{ code, message, fix, details },
    ...(error instanceof UpstreamError && { delivered: error.delivered }),
    ...(code === 'INTERNAL' && cause instanceof Error && { stack: String(cause.stack) }),
  };
}

/** Makes the error that the gateway sent, of the same class. */
export function fromWireError({ code, message, fix, details, delivered, stack }: WireError): HeddleError {
  const cause = stack === undefined ? undefined : Object.assign(new Error(message), { stack });
  const options = { fix, details, ...(cause && { cause }) };
  return delivered === undefined
    ? new HeddleError(code, message, options)
    : new UpstreamError(code as UpstreamError['code'] & `UPSTREAM_${string}`, message, { ...options, delivered });
}
