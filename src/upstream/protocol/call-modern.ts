import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { InputResponses, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { paramHeaders } from '../../schema/param-headers.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { HEADER_MISMATCH, META, METHOD_NOT_FOUND, TASKS_EXTENSION } from '../../wire/mcp.ts';
import type { RequestOptions } from '../../wire/request-options.ts';
import { answered, answeredByUs, hasKeys, requestOf, requestOptionsOf } from '../call-request.ts';
import {
  failureIn,
  invalidInputRequest,
  readInputRequests,
  rootResponses,
  toInputRequired,
  without,
} from '../elicitation/input-requests.ts';
import { toFailure } from '../failure.ts';
import type { ProtocolCalls, ProtocolCallsOptions } from './call-legacy.ts';
import { capabilitiesOf } from './negotiate.ts';
import { taskPoller } from './poll-task.ts';

export interface ModernCallsOptions extends ProtocolCallsOptions {
  /** All tools as the server describes them now. */
  readonly listTools: (signal: AbortSignal) => Promise<readonly JsonObject[]>;
}

// A server that wants the roots again and again would be asked for ever.
const MAX_ROUNDS = 4;

interface Round {
  readonly answers: InputResponses | undefined;
  readonly state: string | undefined;
}

/** Calls to a server that asks by its answer, and is asked again with what the user said. */
export function modernCalls(options: ModernCallsOptions): ProtocolCalls {
  const { server, serverRequests, listTools } = options;
  const request = requester(options);
  const tasks = taskPoller({ server, questions: serverRequests, request });
  let underWay = 0;

  /** Our headers may follow a description that is no longer the server's. */
  async function askUpToDate(call: ResolvedCall, round: Round): Promise<JsonObject> {
    try {
      return await request(...roundOf(call, round));
    } catch (thrown) {
      const isOutdated = thrown instanceof RpcError && thrown.code === HEADER_MISMATCH && call.kind === 'tool';
      if (!isOutdated) throw thrown;
      const tools = await listTools(call.signal);
      const tool = tools.find(({ name }) => name === call.target.name);
      if (!tool) throw thrown;
      return request(...roundOf(call, round, tool.inputSchema));
    }
  }

  /** Asks until what is left is for the user: the configured roots are ours to tell. */
  async function send(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    let round = firstRound(call);
    for (let rounds = 1; ; rounds++) {
      const value = await askUpToDate(call, round);
      if (isBegun(value, call)) return tasks.begun(value);
      if (value.resultType !== 'input_required') return answered(server, value, startedAt);
      const { asked, state } = readInputRequests(server, value);
      const ours = rootResponses(asked, call, serverRequests);
      const rest = without(asked, ours);
      const isOurs = hasKeys(ours) && !hasKeys(rest);
      if (!isOurs) return toInputRequired({ server, questions: serverRequests, call }, rest, toNext(server, state));
      if (rounds === MAX_ROUNDS) throw invalidInputRequest(server, 'the same question again and again');
      round = { answers: ours, state };
    }
  }

  return {
    async send(call) {
      const { continuation, inputResponses } = call;
      const isTask = continuation?.kind === 'task';
      const failed = isTask ? undefined : failureIn(inputResponses);
      if (failed !== undefined) return answeredByUs(call, server, `The user could not be asked: ${failed}`);
      underWay++;
      try {
        return await (isTask ? tasks.follow(call, continuation) : send(call));
      } catch (thrown) {
        throw toFailure(server, thrown);
      } finally {
        underWay--;
      }
    },
    async answer(method) {
      throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
    },
    onNotification() {},
    sendsUnrelatedRequests: () => false,
    inFlight: () => underWay,
    close() {},
  };
}

type Request = (method: string, params: JsonObject, call: ResolvedCall, ask: RequestOptions) => Promise<JsonObject>;

/** Says with each request what its call's user can be asked, and whether somebody waits. */
function requester({ peer, serverRequests }: ModernCallsOptions): Request {
  return function request(method, params, call, ask) {
    const declared = capabilitiesOf(call.capabilities ?? NO_CAPABILITIES, serverRequests.roots().length > 0);
    // A server that is not told so answers at once or not at all.
    const capabilities = call.acceptsTask ? { ...declared, extensions: { [TASKS_EXTENSION]: {} } } : declared;
    const level = call.log && { [META.logLevel]: call.log.level };
    return peer.request(method, params, { ...ask, envelope: { [META.clientCapabilities]: capabilities, ...level } });
  };
}

function roundOf(
  call: ResolvedCall,
  { answers, state }: Round,
  schema = call.target.definition.inputSchema,
): Parameters<Request> {
  const { method, params: plain } = requestOf(call);
  const params = {
    ...plain,
    ...(answers && { inputResponses: answers as JsonObject }),
    ...(state !== undefined && { requestState: state }),
  };
  const headers = call.kind === 'tool' && { headers: paramHeaders(schema, call.input) };
  return [method, params, call, { ...requestOptionsOf(call), ...headers }];
}

const firstRound = ({ inputResponses, continuation }: ResolvedCall): Round => ({
  answers: inputResponses,
  state: continuation?.kind === 'upstream' ? continuation.state : undefined,
});

const isBegun = ({ resultType }: JsonObject, { acceptsTask }: ResolvedCall) =>
  resultType === 'task' && acceptsTask === true;

const toNext = (server: string, state: string | undefined) =>
  ({ kind: 'upstream', server, ...(state !== undefined && { state }) }) as const;
