import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, InputResponses, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { paramHeaders } from '../../schema/param-headers.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { HEADER_MISMATCH, META, METHOD_NOT_FOUND, TASKS_EXTENSION } from '../../wire/mcp.ts';
import type { RequestOptions } from '../../wire/request-options.ts';
import { completeResult, errorResult, hasKeys, requestOf, requestOptionsOf } from '../call-request.ts';
import {
  failureIn,
  invalidInputRequest,
  readInputRequests,
  rootResponses,
  toInputRequired,
  withoutAnswered,
} from '../elicitation/modern-input.ts';
import { toFailure } from '../failure.ts';
import type { ProtocolCalls, ProtocolCallsOptions } from './call-legacy.ts';
import { capabilitiesOf } from './negotiate.ts';
import { taskPoller } from './poll-task.ts';

export interface ModernCallsOptions extends ProtocolCallsOptions {
  /** Fetches all tools as the server defines them now. */
  readonly listTools: (signal: AbortSignal) => Promise<readonly JsonObject[]>;
}

// Requests per call that are answered with the configured roots. A server that asks for them for ever is stopped.
const MAX_REQUESTS = 4;

/** The part of a request that continues an earlier one. */
interface RequestContinuation {
  readonly inputResponses: InputResponses | undefined;
  readonly state: string | undefined;
}

/** Calls to a 2026-07-28 server: it returns `input_required` and is called again with the responses. */
export function modernCalls(options: ModernCallsOptions): ProtocolCalls {
  const { server, serverRequests, listTools } = options;
  const request = requester(options);
  const tasks = taskPoller({ server, serverRequests, request });
  let inFlight = 0;

  /** Sends a request. If its headers do not match the tool's schema any more (-32020), lists the tools and sends again. */
  async function requestUpToDate(call: ResolvedCall, continued: RequestContinuation): Promise<JsonObject> {
    try {
      return await request(...toRequest(call, continued));
    } catch (thrown) {
      const isOutdated = thrown instanceof RpcError && thrown.code === HEADER_MISMATCH && call.kind === 'tool';
      if (!isOutdated) throw thrown;
      const tools = await listTools(call.signal);
      const tool = tools.find(({ name }) => name === call.target.name);
      if (!tool) throw thrown;
      return request(...toRequest(call, continued, tool.inputSchema));
    }
  }

  /** Sends a call. Answers `roots/list` with the configured roots until the rest is for the user. */
  async function send(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    let continued = continuationOf(call);
    for (let requests = 1; ; requests++) {
      const value = await requestUpToDate(call, continued);
      if (isTaskBegun(value, call)) return tasks.begin(value);
      if (value.resultType !== 'input_required') return completeResult(server, value, startedAt);
      const { inputRequests, state } = readInputRequests(server, value);
      const roots = rootResponses(inputRequests, call, serverRequests);
      const rest = withoutAnswered(inputRequests, roots);
      const isAnswered = hasKeys(roots) && !hasKeys(rest);
      if (!isAnswered) return toInputRequired({ server, serverRequests, call }, rest, toContinuation(server, state));
      if (requests === MAX_REQUESTS) throw invalidInputRequest(server, 'the same input request again and again');
      continued = { inputResponses: roots, state };
    }
  }

  return {
    async send(call) {
      const { continuation, inputResponses } = call;
      const isTask = continuation?.kind === 'task';
      const failed = isTask ? undefined : failureIn(inputResponses);
      if (failed !== undefined) return errorResult(call, server, `The user could not be asked: ${failed}`);
      inFlight++;
      try {
        return await (isTask ? tasks.resume(call, continuation) : send(call));
      } catch (thrown) {
        throw toFailure(server, thrown);
      } finally {
        inFlight--;
      }
    },
    async answer(method) {
      throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
    },
    onNotification() {},
    sendsUnrelatedRequests: () => false,
    inFlight: () => inFlight,
    close() {},
  };
}

type Request = (method: string, params: JsonObject, call: ResolvedCall, options: RequestOptions) => Promise<JsonObject>;

/** Sends requests that declare the capabilities of the call's client, and tasks if the caller accepts one. */
function requester({ peer, serverRequests }: ModernCallsOptions): Request {
  return function request(method, params, call, options) {
    const declared = capabilitiesOf(declaredBy(call), serverRequests.roots().length > 0);
    // Without the extension the server may not begin a task.
    const tasks = call.acceptsTask && { extensions: { ...declaredBy(call).extensions, [TASKS_EXTENSION]: {} } };
    const capabilities = tasks ? { ...declared, ...tasks } : declared;
    const level = call.log && { [META.logLevel]: call.log.level };
    const envelope = { [META.clientCapabilities]: capabilities, ...level };
    return peer.request(method, params, { ...options, envelope });
  };
}

/** Returns the capabilities of the client. A call that gets no input requests declares its extensions alone. */
function declaredBy({ capabilities, caller }: ResolvedCall): ClientCapabilities {
  if (capabilities) return capabilities;
  const extensions = caller.capabilities?.extensions;
  return extensions ? { ...NO_CAPABILITIES, extensions } : NO_CAPABILITIES;
}

function toRequest(
  call: ResolvedCall,
  { inputResponses, state }: RequestContinuation,
  schema = call.target.definition.inputSchema,
): Parameters<Request> {
  const { method, params: plain } = requestOf(call);
  const params = {
    ...plain,
    ...(inputResponses && { inputResponses: inputResponses as JsonObject }),
    ...(state !== undefined && { requestState: state }),
  };
  const headers = call.kind === 'tool' && { headers: paramHeaders(schema, call.input) };
  return [method, params, call, { ...requestOptionsOf(call), ...headers }];
}

const continuationOf = ({ inputResponses, continuation }: ResolvedCall): RequestContinuation => ({
  inputResponses,
  state: continuation?.kind === 'upstream' ? continuation.state : undefined,
});

const isTaskBegun = ({ resultType }: JsonObject, { acceptsTask }: ResolvedCall) =>
  resultType === 'task' && acceptsTask === true;

const toContinuation = (server: string, state: string | undefined) =>
  ({ kind: 'upstream', server, ...(state !== undefined && { state }) }) as const;
