import { setTimeout as wait } from 'node:timers/promises';
import { checkInputResponse, REJECTED } from '../../core/call/check-input-response.ts';
import type { InputRequests } from '../../core/call/run-to-completion.ts';
import { MAX_TASK_MS } from '../../core/call/task.ts';
import type { InputRequest, InputResponse, InputResponses, JsonObject, ResolvedCall } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INTERNAL_ERROR } from '../../wire/mcp.ts';
import type { Peer } from '../../wire/peer.ts';
import type { RequestOptions } from '../../wire/request-options.ts';
import { requestOf, requestOptionsOf } from '../call-request.ts';
import { cancelTask, type LegacyTask } from '../legacy-task.ts';

/** The next thing that a call comes to: its result, or input requests of the server. */
export type LegacyCallStep =
  | { readonly kind: 'answered'; readonly value: JsonObject }
  | {
      readonly kind: 'input-required';
      readonly inputRequests: InputRequests;
      /** Aborts when the server has withdrawn all of them. */
      readonly withdrawn: AbortSignal;
    };

export interface LegacyCallOptions {
  readonly peer: Peer;
  readonly server: string;
  readonly call: ResolvedCall;
  /** The task whose result is waited for, if the call was sent as a task. */
  readonly task?: LegacyTask | undefined;
  /** Called when the request has ended, with a result or an error. */
  readonly onEnd: () => void;
  /** Moves an input request to another call; false when there is none. */
  readonly handOver?: (one: OpenInputRequest) => boolean;
}

/** The circumstances of an input request. */
export interface PendingInput {
  /** Aborts when the server withdraws the request. */
  readonly withdrawn: AbortSignal;
  /** True when the transport did not say during which call the request came. */
  readonly isAttributionGuessed?: boolean;
}

export interface OpenInputRequest extends PendingInput {
  readonly inputRequest: InputRequest;
  readonly resolve: (response: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

type Outcome = { readonly value: JsonObject } | { readonly error: unknown };

/** Most input requests that one call may have open. */
export const MAX_INPUT_REQUESTS = 16;
// Servers with several input requests send them one after the other: they are collected for 5 ms.
const GATHER_MS = 5;

/** A call to a legacy server, from its request to its result, with the input requests in between. */
export class LegacyCall {
  readonly server: string;
  readonly #options: LegacyCallOptions;
  readonly #open = new Map<string, OpenInputRequest>();
  #id = 0;
  #requests = 0;
  #active = true;
  #outcome: Outcome | undefined;
  #withdrawn = new AbortController();
  #cancelSent: Promise<void> = Promise.resolve();
  #wake = () => {};

  /** Sends the call. */
  constructor(options: LegacyCallOptions) {
    const { peer, server, call, task } = options;
    this.server = server;
    this.#options = options;
    const { method, params } = task ? { method: 'tasks/result', params: { taskId: task.taskId } } : requestOf(call);
    peer.request(method, params, this.#requestOptions(call)).then(
      (value) => this.#settle({ value }),
      (error) => this.#settle({ error: this.#active ? error : lostWhileSuspended(server, error) }),
    );
  }

  /** The JSON-RPC id of the request. */
  get id(): number {
    return this.#id;
  }

  get taskId(): string | undefined {
    return this.#options.task?.taskId;
  }

  /** True while a caller waits for the next step; false while the call is suspended. */
  get isActive(): boolean {
    return this.#active;
  }

  get isWaitingForInput(): boolean {
    return this.#open.size > 0;
  }

  /** True when the request has ended, with a result or an error. */
  get isOver(): boolean {
    return this.#outcome !== undefined;
  }

  /** Takes an input request of the server; settles with the response for the server. */
  async request(inputRequest: InputRequest, pending: PendingInput): Promise<JsonObject> {
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    if (this.adopt({ ...pending, inputRequest, resolve, reject })) return promise;
    throw new RpcError(REJECTED, `A call may have ${MAX_INPUT_REQUESTS} open input requests, not more.`);
  }

  /** Takes over an input request that is open already; false when there are too many. */
  adopt(one: OpenInputRequest): boolean {
    if (this.#open.size >= MAX_INPUT_REQUESTS) return false;
    const key = `q${++this.#requests}`;
    this.#open.set(key, one);
    one.withdrawn.addEventListener('abort', () => this.#withdraw(key), { once: true });
    this.#wake();
    return true;
  }

  /** Waits for the next step. Throws the error of the request if it failed. */
  async next(): Promise<LegacyCallStep> {
    while (!this.#outcome) {
      if (!this.isWaitingForInput) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (!this.#outcome) await wait(GATHER_MS);
      if (this.isWaitingForInput) break; // Otherwise the server has withdrawn its input requests.
    }
    this.#active = false;
    const outcome = this.#outcome;
    if (!outcome) {
      this.#options.peer.hold(this.#id);
      this.#withdrawn = new AbortController();
      const open = [...this.#open].map(([key, { inputRequest }]) => [key, inputRequest]);
      const inputRequests: InputRequests = Object.fromEntries(open);
      return { kind: 'input-required', inputRequests, withdrawn: this.#withdrawn.signal };
    }
    if ('error' in outcome) throw outcome.error;
    return { kind: 'answered', value: outcome.value };
  }

  /** Returns the responses that belong to an open input request. Throws INPUT_INVALID for an invalid one. */
  check(inputResponses: InputResponses): InputResponses {
    const matching = Object.entries(inputResponses).flatMap(([key, response]) => {
      const inputRequest = this.#open.get(key)?.inputRequest;
      return inputRequest ? [[key, checkInputResponse(inputRequest, response)] as const] : [];
    });
    return Object.fromEntries(matching);
  }

  /** Continues a suspended call with responses that were checked. */
  resume(call: ResolvedCall, inputResponses: InputResponses): void {
    this.#active = true;
    this.#options.peer.resume(this.#id, this.#requestOptions(call));
    if (call.signal.aborted) return;
    for (const [key, response] of Object.entries(inputResponses)) {
      const one = this.#open.get(key);
      this.#open.delete(key);
      if (one) respond(one, response);
    }
  }

  cancel(error: Error): void {
    this.#options.peer.cancel(this.#id, error);
  }

  #requestOptions(call: ResolvedCall): RequestOptions {
    const { peer, task } = this.#options;
    const onId = (id: number) => (this.#id = id);
    if (!task) return { ...requestOptionsOf(call), onId, onGivenUp: (sent) => (this.#cancelSent = sent) };
    const deadlineMs = call.options.timeoutMs ?? MAX_TASK_MS;
    const longestMs = Math.max(deadlineMs, MAX_TASK_MS);
    const limits = { deadlineMs, longestMs, progressOf: task.begunBy, repeatable: true };
    const onGivenUp = (sent: Promise<void>) =>
      (this.#cancelSent = Promise.all([cancelTask(peer, task), sent]).then(() => {}));
    return { ...requestOptionsOf(call), ...limits, onId, onGivenUp };
  }

  #withdraw(key: string): void {
    this.#open.get(key)?.resolve({});
    if (this.#open.delete(key) && !this.isWaitingForInput) this.#withdrawn.abort();
  }

  /** Moves input requests that were attributed to this call by a guess: the call has ended, so they belong to another. */
  #handOver(): void {
    for (const [key, one] of [...this.#open]) {
      if (one.isAttributionGuessed && this.#options.handOver?.(one)) this.#open.delete(key);
    }
  }

  async #settle(outcome: Outcome): Promise<void> {
    this.#outcome = outcome;
    this.#options.onEnd();
    this.#wake();
    if ('value' in outcome || outcome.error instanceof RpcError) this.#handOver();
    // The cancel notification goes first: a server that gets the error before it takes it for the user's decision.
    await this.#cancelSent;
    for (const { reject } of this.#open.values()) reject(new RpcError(INTERNAL_ERROR, 'The call has ended.'));
    this.#open.clear();
    this.#withdrawn.abort();
  }
}

function respond({ resolve, reject }: OpenInputRequest, response: InputResponse): void {
  const { failed } = response as { failed?: { code: number; message: string } };
  if (failed) reject(new RpcError(failed.code, failed.message));
  else resolve(response as JsonObject);
}

/** Replaces the error of a lost connection by one that says that the call was suspended. Keeps all other errors. */
function lostWhileSuspended(server: string, error: unknown): unknown {
  if (!(error instanceof UpstreamError) || error.code !== 'UPSTREAM_FAILED') return error;
  return new UpstreamError('UPSTREAM_FAILED', `${server} ended while its call waited for the user.`, {
    delivered: 'maybe',
    cause: error,
    details: error.details,
    fix: 'Check whether the call has had effects, then call again.',
  });
}
