import {
  canHandle,
  hasAnyCapability,
  NO_CAPABILITIES,
  sharedCapabilities,
} from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, InputRequest, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import type { IncomingRequest } from '../../wire/incoming-requests.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { METHOD_NOT_FOUND } from '../../wire/mcp.ts';
import type { Peer } from '../../wire/peer.ts';
import { answered, answeredByUs, requestOf, requestOptionsOf } from '../call-request.ts';
import { LegacyCall, type OpenInputRequest } from '../elicitation/legacy-call.ts';
import { isInputRequest, type ServerRequests, unsupported } from '../elicitation/server-requests.ts';
import type { SuspendedCalls } from '../elicitation/suspended-calls.ts';
import { hasAccepted, requiredUrls, type UrlElicitations, urlElicitations } from '../elicitation/url-elicitation.ts';
import { toFailure } from '../failure.ts';
import { beginTask, isOnlyTask, type LegacyTask, relatedTask, withoutTask } from '../legacy-task.ts';

export interface ProtocolCallsOptions {
  readonly peer: Peer;
  readonly server: string;
  /** What the server was told that the user can be asked. */
  readonly capabilities: ClientCapabilities;
  readonly serverRequests: ServerRequests;
  /** Whether tools can be called as tasks of 2025-11-25. */
  readonly takesTaskCalls?: () => boolean;
}

/** The calls of one line, and what the server asks in the middle of them. */
export interface ProtocolCalls {
  /** One round. */
  send(call: ResolvedCall): Promise<Result>;
  /** Answers what the server asks. */
  answer(method: string, params: JsonObject, asked: IncomingRequest): Promise<JsonObject>;
  onNotification(method: string, params: JsonObject): void;
  sendsUnrelatedRequests(): boolean;
  inFlight(): number;
  close(): void;
}

interface Running {
  readonly exchange: LegacyCall;
  readonly capabilities: ClientCapabilities;
  readonly principal: string;
  readonly visited: ResolvedCall['onElicitationComplete'];
}

/** Calls to a server that asks by requests of its own, while ours is open. */
export function legacyCalls(options: ProtocolCallsOptions): ProtocolCalls {
  const { server, capabilities, serverRequests } = options;
  const askable = askableCalls();
  const visited = urlElicitations();
  const { send, plain, beginning } = sender(options, askable, visited);
  return {
    send,
    async answer(method, params, { signal, relatedRequestId }) {
      if (!isInputRequest(method)) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
      const own = method === 'roots/list' ? serverRequests.roots() : [];
      // Asked outside of calls as often as not: only a client with roots of its own has to be asked.
      if (own.length > 0 && !capabilities.roots) return { roots: own };
      const taskId = relatedTask(params);
      const owner = askable.ownerOf({ askedBy: relatedRequestId, taskId });
      if (own.length > 0 && !owner?.capabilities.roots) return { roots: own };
      if (!owner) throw nobodyToAsk({ method, params }, plain());
      const asking = { withdrawn: signal, isGuess: relatedRequestId === undefined && taskId === undefined };
      const question = serverRequests.admit(server, { method, params }, owner);
      return owner.exchange.put(visited.begin(question, owner.visited), asking);
    },
    onNotification: visited.onNotification,
    sendsUnrelatedRequests: askable.asksBlindly,
    inFlight: () => plain() + beginning() + askable.running.size,
    close: visited.close,
  };
}

/** Sends calls, each in the way its server and its user can take it. */
function sender(options: ProtocolCallsOptions, { running, handOver }: AskableCalls, visited: UrlElicitations) {
  const { peer, server, capabilities, serverRequests, takesTaskCalls = () => false } = options;
  const isInvited = hasAnyCapability(capabilities);
  const able = (call: ResolvedCall) => sharedCapabilities(capabilities, call.capabilities ?? NO_CAPABILITIES);
  let plain = 0;
  let beginning = 0;

  // Nearly every call goes this way, so a chain: an async function would cost each of them half a kilobyte.
  function sendPlainly(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    const { method, params } = requestOf(call);
    plain++; // From here on nothing throws but the promise.
    return peer.request(method, params, requestOptionsOf(call)).then(
      (value) => {
        plain--;
        return answered(server, value, startedAt);
      },
      (thrown) => {
        plain--;
        throw toFailure(server, thrown);
      },
    );
  }

  async function sendAsTask(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    beginning++;
    return orVisit(call, async () => {
      const begun = await beginTask(peer, call).finally(() => beginning--);
      return 'value' in begun ? answered(server, begun.value, startedAt) : exchanged(call, begun);
    });
  }

  const sendAskably = (call: ResolvedCall) => orVisit(call, () => exchanged(call));

  function exchanged(call: ResolvedCall, task?: LegacyTask): Promise<Result> {
    const exchange = new LegacyCall({ peer, server, call, task, onEnd: () => running.delete(one), handOver });
    const { caller, onElicitationComplete: visited } = call;
    const one: Running = { exchange, capabilities: able(call), principal: caller.id, visited };
    running.add(one);
    return nextStop(exchange, call, serverRequests.suspendedCalls);
  }

  /** What comes of a call, or what its server wants visited before it does anything. */
  async function orVisit(call: ResolvedCall, done: () => Promise<Result>): Promise<Result> {
    try {
      return await done();
    } catch (thrown) {
      const urls = requiredUrls({ server, call, thrown, capabilities: able(call), questions: serverRequests, visited });
      if (urls) return urls;
      throw toFailure(server, thrown);
    }
  }

  function sendAnew(call: ResolvedCall): Promise<Result> {
    if (isOnlyTask(call) && takesTaskCalls()) return sendAsTask(call);
    return isInvited ? sendAskably(call) : sendPlainly(call);
  }

  async function sendAgain(call: ResolvedCall, after: readonly string[]): Promise<Result> {
    if (!hasAccepted(call)) return answeredByUs(call, server, unvisited(server));
    await visited.over(after, call.signal);
    return sendAnew(call);
  }

  function send(call: ResolvedCall): Promise<Result> {
    const { continuation } = call;
    // It would be called a second time.
    if (continuation?.kind === 'task') return Promise.reject(knowsNoTasks(server));
    return continuation?.kind === 'call-again' ? sendAgain(call, continuation.after) : sendAnew(call);
  }

  return { send, plain: () => plain, beginning: () => beginning };
}

/** Why a question is put to nobody, when this many calls are under way whose callers cannot be asked. */
function nobodyToAsk(question: InputRequest, plain: number): RpcError {
  if (plain > 0) return unsupported(question);
  return new RpcError(METHOD_NOT_FOUND, `${question.method} came during no call, so there is nobody to ask.`);
}

/** What a server says of the call that it asks about. */
interface Clue {
  readonly askedBy?: number | undefined;
  readonly taskId?: unknown;
}

type AskableCalls = ReturnType<typeof askableCalls>;

/** The calls of a line during which the server may ask. */
function askableCalls() {
  const running = new Set<Running>();
  let blind = false;

  /** The call a question belongs to. Where the line does not say, it is guessed: among calls of one principal. */
  function ownerOf({ askedBy, taskId }: Clue): Running | undefined {
    const all = [...running];
    if (taskId !== undefined) return all.find(({ exchange }) => exchange.taskId === taskId);
    if (askedBy !== undefined) return all.find(({ exchange }) => exchange.id === askedBy);
    if (all.length > 0) blind = true;
    const active = all.filter(({ exchange }) => exchange.isActive);
    return active.find(({ exchange }) => !exchange.isAsking) ?? active[0] ?? all[0];
  }

  function handOver(one: OpenInputRequest): boolean {
    const owner = ownerOf({});
    return owner !== undefined && canHandle(owner.capabilities, one.question) && owner.exchange.adopt(one);
  }

  return { running, ownerOf, handOver, asksBlindly: () => blind };
}

/** Goes on with the call behind a ticket, in whatever line it waits. */
export async function resumeSuspended(parking: SuspendedCalls, call: ResolvedCall): Promise<Result> {
  const { exchange, answers } = parking.take(call);
  exchange.proceed(call, answers);
  try {
    return await nextStop(exchange, call, parking);
  } catch (thrown) {
    throw toFailure(exchange.server, thrown);
  }
}

async function nextStop(exchange: LegacyCall, call: ResolvedCall, parking: SuspendedCalls): Promise<Result> {
  const startedAt = performance.now();
  const { server } = exchange;
  const stop = await exchange.next();
  if (stop.kind === 'answered') return answered(server, withoutTask(stop.value), startedAt);
  const ticket = parking.suspend(exchange, call);
  const { questions, over } = stop;
  return {
    kind: 'input-required',
    inputRequests: questions,
    withdrawn: over,
    continuation: { kind: 'parked', server, ticket },
  };
}

const knowsNoTasks = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `${server} knows nothing of what it was doing.`, { delivered: 'maybe' });
const unvisited = (server: string) =>
  `${server} does not do this before its page is visited, and the user did not agree to that.`;
