import { randomUUID } from 'node:crypto';
import { abortable } from '../../core/async/abortable.ts';
import type { PendingApproval } from '../../core/call/approval.ts';
import { checkInputResponse } from '../../core/call/check-input-response.ts';
import { waitingMessage } from '../../core/call/report-waiting.ts';
import { type InputRequests, runToCompletion } from '../../core/call/run-to-completion.ts';
import type { Call, Handler, InputResponse, InputResponses, JsonObject, Progress, Result } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { withoutReserved } from '../reserved-meta.ts';
import { toCallError } from '../to-rpc-error.ts';
import type { ApprovalWaits } from './approval-waits.ts';
import { toModernInputRequests } from './modern-input-requests.ts';
import type { GatewayTaskRoute } from './task-ids.ts';

export interface GatewayTaskOptions {
  readonly heddle: Pick<Heddle, 'dispatch' | 'catalog' | 'approvals'>;
  readonly call: Call;
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly waits: Pick<ApprovalWaits, 'withdrawable'>;
  /** Called when the task has ended. */
  readonly onEnd?: () => void;
}

interface PendingInput {
  readonly requests: InputRequests;
  readonly responses: Record<string, InputResponse>;
  readonly resolve: (responses: InputResponses) => void;
}

/** The time after which a client should poll a gateway task again. */
export const POLL_MS = 1000;

/** A call that can outlive its request: after `detach` the client polls it by task id. */
export class GatewayTask {
  /** The result of the first dispatch. */
  readonly first: Promise<Result>;
  /** Time from its creation until it is removed. */
  ttlMs: number;
  readonly #options: GatewayTaskOptions;
  readonly #createdAt: number;
  readonly #cancellation = new AbortController();
  readonly #onAbort = () => this.#cancellation.abort();
  #updatedAt: number;
  #isDetached = false;
  #message: string | undefined;
  #isWaiting = false;
  #isWithdrawn = false;
  #route: GatewayTaskRoute | undefined;
  #pending: PendingInput | undefined;
  #end: JsonObject | undefined;
  #bytes = 0;

  /** Dispatches the call. */
  constructor(options: GatewayTaskOptions) {
    const { call, heddle, clock } = options;
    this.#options = options;
    this.ttlMs = options.ttlMs;
    this.#createdAt = clock();
    this.#updatedAt = this.#createdAt;
    call.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (call.signal.aborted) this.#cancellation.abort();
    this.first = heddle.dispatch(this.#toTaskCall(call));
    const settled = () => call.signal.removeEventListener('abort', this.#onAbort);
    this.first.then(settled, settled);
  }

  /** True once the task is completed, failed or cancelled. */
  get isEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Its place in the gateway, once the gateway keeps it. */
  get route(): GatewayTaskRoute {
    this.#route ??= { kind: 'gateway', ticket: randomUUID() };
    return this.#route;
  }

  set route(route: GatewayTaskRoute) {
    this.#route = route;
  }

  /** True while an approver has to decide. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Approximate size of the result. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Lets the task outlive its request: an abort of the request no longer cancels it. */
  detach(): void {
    const { call, heddle, waits } = this.#options;
    call.signal.removeEventListener('abort', this.#onAbort);
    this.#isDetached = true;
    let first: Promise<Result> | undefined = this.first;
    const dispatch: Handler = (next) => {
      const result = first ?? heddle.dispatch(next);
      first = undefined;
      return result.then((one) => waits.withdrawable(one, next));
    };
    const describe = ({ caller, name, signal }: Call) => heddle.catalog.describe(caller, name, signal);
    const ask = (requests: InputRequests, _server: string, signal: AbortSignal) => this.#waitForInput(requests, signal);
    const settled = (approval: PendingApproval, signal: AbortSignal) => this.#waitForDecision(approval, signal);
    runToCompletion(dispatch, this.#toTaskCall(call), { ask, describe, settled }).then(
      ({ value }) => this.#finish({ status: 'completed', result: withoutReserved(value) }),
      (thrown) => this.#finish(toEnd(thrown, call)),
    );
  }

  /** Returns the task as MCP describes it, without its id. */
  describe(): JsonObject {
    const { ttlMs } = this;
    const inputRequired = this.#pending && {
      status: 'input_required',
      inputRequests: toModernInputRequests(this.#unanswered()),
    };
    return {
      ...(this.#end ?? inputRequired ?? { status: 'working' }),
      ...(this.#message !== undefined && { statusMessage: this.#message }),
      createdAt: new Date(this.#createdAt).toISOString(),
      lastUpdatedAt: new Date(this.#updatedAt).toISOString(),
      ttlMs,
      pollIntervalMs: POLL_MS,
    };
  }

  /** Accepts responses to open input requests and continues once all have one. Throws INPUT_INVALID. */
  provideInput(responses: InputResponses): void {
    const pending = this.#pending;
    if (!pending) return;
    const accepted = Object.entries(this.#unanswered()).flatMap(([key, request]) => {
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined;
      return response === undefined ? [] : [[key, checkInputResponse(request, response)] as const];
    });
    for (const [key, response] of accepted) pending.responses[key] = response;
    this.#touch();
    if (Object.keys(this.#unanswered()).length > 0) return;
    this.#pending = undefined;
    pending.resolve(pending.responses);
  }

  /** Cancels the task for its client, and withdraws the call from the approval that it waits for. */
  async cancelByClient(): Promise<void> {
    this.#isWithdrawn ||= !this.isEnded;
    this.cancel();
    if (this.#isWithdrawn) await this.#withdraw();
  }

  /** Cancels the task in this process. Another one may resume a call that waits for an approval. */
  cancel(): void {
    if (this.isEnded) return;
    this.#finish({ status: 'cancelled' });
    this.#cancellation.abort();
  }

  /** Redirects signal, progress and log: after `detach` no notification can go to the original request. */
  #toTaskCall(call: Call): Call {
    const { log } = call;
    const onMessage = (params: JsonObject) => this.#isDetached || log?.onMessage(params);
    return {
      ...call,
      signal: this.#cancellation.signal,
      // Set even if the client wants no progress: a server that reports progress gets more time.
      onProgress: (progress) => this.#report(progress),
      ...(log && { log: { ...log, onMessage } }),
    };
  }

  #report(progress: Progress): void {
    if (typeof progress.message === 'string') this.#message = progress.message;
    this.#touch();
    if (!this.#isDetached) this.#options.call.onProgress?.(progress);
  }

  /** Shows that an approver has to decide, and who can. */
  waitFor(approval: PendingApproval): void {
    this.#isWaiting = true;
    this.#message = waitingMessage(approval);
    this.#touch();
  }

  async #waitForDecision(approval: PendingApproval, signal: AbortSignal): Promise<void> {
    const { call, heddle } = this.#options;
    if (this.#isWithdrawn) await this.#withdraw(); // The approval was requested after the client cancelled.
    this.waitFor(approval);
    await heddle.approvals.settled(call.caller, approval.id, signal);
    this.#isWaiting = false;
    this.#message = undefined;
    this.#touch();
  }

  #withdraw(): Promise<void> {
    const { call, heddle } = this.#options;
    return heddle.approvals.withdraw(call.caller, call.id);
  }

  #waitForInput(requests: InputRequests, signal: AbortSignal): Promise<InputResponses> {
    const { promise, resolve } = Promise.withResolvers<InputResponses>();
    const pending: PendingInput = { requests, responses: {}, resolve };
    this.#pending = pending;
    this.#touch();
    return abortable(promise, signal).finally(() => {
      if (this.#pending === pending) this.#pending = undefined;
    });
  }

  #unanswered(): InputRequests {
    const { requests = {}, responses = {} } = this.#pending ?? {};
    return Object.fromEntries(Object.entries(requests).filter(([key]) => !Object.hasOwn(responses, key)));
  }

  #finish(end: JsonObject): void {
    if (this.isEnded) return;
    this.#end = end;
    this.#pending = undefined;
    this.#message = undefined;
    this.#isWaiting = false;
    this.#bytes = JSON.stringify(end).length;
    this.#touch();
    this.#options.onEnd?.();
  }

  #touch(): void {
    this.#updatedAt = this.#options.clock();
  }
}

export function toEnd(thrown: unknown, { capabilities }: Call): JsonObject {
  if (HeddleError.is(thrown) && thrown.code === 'CALL_CANCELLED') return { status: 'cancelled' };
  try {
    return { status: 'completed', result: toCallError(thrown, { era: 'modern', capabilities }) };
  } catch (error) {
    return { status: 'failed', error: RpcError.fromError(error).toError() };
  }
}
