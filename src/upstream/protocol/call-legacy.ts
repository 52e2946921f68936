import { hasAnyCapability, NO_CAPABILITIES, sharedCapabilities } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, InputRequest, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import type { IncomingRequest } from '../../wire/incoming-requests.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { METHOD_NOT_FOUND } from '../../wire/mcp.ts';
import type { Peer } from '../../wire/peer.ts';
import { completeResult, errorResult, requestOf, requestOptionsOf } from '../call-request.ts';
import { LegacyCall } from '../elicitation/pending-call.ts';
import { isInputRequest, type ServerRequests, unsupported } from '../elicitation/server-requests.ts';
import { hasAccepted, requiredUrls, type UrlElicitations, urlElicitations } from '../elicitation/url-elicitation.ts';
import { toFailure } from '../failure.ts';
import { beginTask, isOnlyTask, type LegacyTask, relatedTask } from '../legacy-task.ts';
import { resultOrSuspend } from './resume-suspended.ts';
import { type RunningCall, type RunningCalls, runningCalls } from './running-calls.ts';

export interface ProtocolCallsOptions {
  readonly peer: Peer;
  readonly server: string;
  /** The client capabilities that were declared to the server. */
  readonly capabilities: ClientCapabilities;
  readonly serverRequests: ServerRequests;
  /** Tests whether tools can be called as tasks of 2025-11-25. */
  readonly takesTaskCalls?: () => boolean;
}

/** The calls of one connection, and the requests that the server sends during them. */
export interface ProtocolCalls {
  /** Sends a call, or continues it. Returns its result or the input requests of the server. */
  send(call: ResolvedCall): Promise<Result>;
  /** Answers a request of the server. */
  answer(method: string, params: JsonObject, incoming: IncomingRequest): Promise<JsonObject>;
  onNotification(method: string, params: JsonObject): void;
  sendsUnrelatedRequests(): boolean;
  inFlight(): number;
  close(): void;
}

/** Calls to a legacy server: it sends requests of its own while a call is open. */
export function legacyCalls(options: ProtocolCallsOptions): ProtocolCalls {
  const { server, capabilities, serverRequests } = options;
  const calls = runningCalls();
  const urls = urlElicitations();
  const counts = { plain: 0, beginning: 0 };
  return {
    send: sender(options, { calls, urls, counts }),
    async answer(method, params, { signal, relatedRequestId }) {
      if (!isInputRequest(method)) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
      const roots = method === 'roots/list' ? serverRequests.roots() : [];
      // Many servers send roots/list outside of calls. Only a client with roots of its own gets the request.
      if (roots.length > 0 && !capabilities.roots) return { roots };
      const taskId = relatedTask(params);
      const owner = calls.ownerOf({ relatedRequestId, taskId });
      if (roots.length > 0 && !owner?.capabilities.roots) return { roots };
      if (!owner) throw unattributed({ method, params }, counts.plain);
      const isAttributionGuessed = relatedRequestId === undefined && taskId === undefined;
      const inputRequest = serverRequests.admit(server, { method, params }, owner);
      urls.track(inputRequest, owner.onElicitationComplete);
      return owner.legacyCall.request(inputRequest, { withdrawn: signal, isAttributionGuessed });
    },
    onNotification: urls.onNotification,
    sendsUnrelatedRequests: calls.sendsUnrelatedRequests,
    inFlight: () => counts.plain + counts.beginning + calls.running.size,
    close: urls.close,
  };
}

interface LegacyConnection {
  readonly calls: RunningCalls;
  readonly urls: UrlElicitations;
  /** `plain`: calls without input requests in flight. `beginning`: calls whose task has no id yet. */
  readonly counts: { plain: number; beginning: number };
}

/** Returns `send`: it sends a call plainly, with input requests allowed, or as a task. */
function sender(options: ProtocolCallsOptions, { calls, urls, counts }: LegacyConnection): ProtocolCalls['send'] {
  const { peer, server, capabilities, serverRequests, takesTaskCalls = () => false } = options;
  const sendPlain = plainSender(options, counts);
  const mayRequest = hasAnyCapability(capabilities);
  const capabilitiesOf = (call: ResolvedCall) => sharedCapabilities(capabilities, call.capabilities ?? NO_CAPABILITIES);

  async function sendAsTask(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    counts.beginning++;
    return orUrls(call, async () => {
      const begun = await beginTask(peer, call).finally(() => counts.beginning--);
      return 'value' in begun ? completeResult(server, begun.value, startedAt) : sendWithInput(call, begun);
    });
  }

  function sendWithInput(call: ResolvedCall, task?: LegacyTask): Promise<Result> {
    const onEnd = () => calls.running.delete(one);
    const legacyCall = new LegacyCall({ peer, server, call, task, onEnd, handOver: calls.handOver });
    const { caller, onElicitationComplete } = call;
    const user = { capabilities: capabilitiesOf(call), principal: caller.id };
    const one: RunningCall = { legacyCall, ...user, onElicitationComplete };
    calls.running.add(one);
    return resultOrSuspend(legacyCall, call, serverRequests.suspendedCalls);
  }

  /** Returns the result, or the URLs that the server wants visited first (error -32042). */
  async function orUrls(call: ResolvedCall, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (thrown) {
      const required = requiredUrls({ server, call, thrown, capabilities: capabilitiesOf(call), serverRequests, urls });
      if (required) return required;
      throw toFailure(server, thrown);
    }
  }

  function sendNew(call: ResolvedCall): Promise<Result> {
    if (isOnlyTask(call) && takesTaskCalls()) return sendAsTask(call);
    return mayRequest ? orUrls(call, () => sendWithInput(call)) : sendPlain(call);
  }

  async function sendAgain(call: ResolvedCall, after: readonly string[]): Promise<Result> {
    if (!hasAccepted(call)) return errorResult(call, server, notVisited(server));
    await urls.waitForCompletion(after, call.signal);
    return sendNew(call);
  }

  return function send(call) {
    const { continuation } = call;
    // A legacy server has no task to poll: sending the call again would execute it twice.
    if (continuation?.kind === 'task') return Promise.reject(unknownTask(server));
    return continuation?.kind === 'call-again' ? sendAgain(call, continuation.after) : sendNew(call);
  };
}

/** Sends calls to a server that may not send input requests. Most calls go this way, so it is a promise chain: an async function costs 0.5 kB per call. */
function plainSender({ peer, server }: ProtocolCallsOptions, counts: { plain: number }): ProtocolCalls['send'] {
  return function sendPlain(call) {
    const startedAt = performance.now();
    const { method, params } = requestOf(call);
    counts.plain++; // From here on only the promise fails.
    return peer.request(method, params, requestOptionsOf(call)).then(
      (value) => {
        counts.plain--;
        return completeResult(server, value, startedAt);
      },
      (thrown) => {
        counts.plain--;
        throw toFailure(server, thrown);
      },
    );
  };
}

/** The error for a server request that belongs to no call. `plain` calls are in flight whose clients declare no capabilities. */
function unattributed(inputRequest: InputRequest, plain: number): RpcError {
  if (plain > 0) return unsupported(inputRequest);
  return new RpcError(
    METHOD_NOT_FOUND,
    `${inputRequest.method} came during no call, so there is no user to answer it.`,
  );
}

const unknownTask = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `${server} does not know the task any more.`, { delivered: 'maybe' });
const notVisited = (server: string) =>
  `${server} does not execute this before its page is visited, and the user did not agree to visit it.`;
