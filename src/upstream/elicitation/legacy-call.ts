import { setTimeout as wait } from 'node:timers/promises';
import { checkInputResponse, REJECTED } from '../../core/call/check-input-response.ts';
import { MAX_TASK_MS } from '../../core/call/task.ts';
import type { InputRequest, InputResponse, InputResponses, JsonObject, ResolvedCall } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INTERNAL_ERROR } from '../../wire/mcp.ts';
import type { Peer } from '../../wire/peer.ts';
import type { RequestOptions } from '../../wire/request-options.ts';
import { requestOf, requestOptionsOf } from '../call-request.ts';
import { cancelTask, type LegacyTask } from '../legacy-task.ts';

/** Where a call stands: answered, or stopped to ask. */
export type Stop =
  | { readonly kind: 'answered'; readonly value: JsonObject }
  | {
      readonly kind: 'asks';
      readonly questions: Readonly<Record<string, InputRequest>>;
      /** Aborts when none of them is asked any more. */
      readonly over: AbortSignal;
    };

export interface LegacyCallOptions {
  readonly peer: Peer;
  readonly server: string;
  readonly call: ResolvedCall;
  /** What the server does by itself, if that is what is waited for. */
  readonly task?: LegacyTask | undefined;
  /** Told when the request is over, however it ended. */
  readonly onEnd: () => void;
  /** Gives a question that was not this call's after all to another; false when there is none. */
  readonly handOver?: (one: OpenInputRequest) => boolean;
}

/** How a question came: when the server no longer asks it, and whether the line said during which call. */
export interface PendingInput {
  readonly withdrawn: AbortSignal;
  readonly isAttributionGuessed?: boolean;
}

export interface OpenInputRequest extends PendingInput {
  readonly question: InputRequest;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

type Outcome = { readonly value: JsonObject } | { readonly error: unknown };

// As many as a person would answer, and far more than servers ask.
export const MAX_INPUT_REQUESTS = 16;
// Servers that ask several things at once send them one after the other.
const GATHER_MS = 5;

/** One call to a legacy server, from its request to its answer, over all the questions between. */
export class LegacyCall {
  readonly server: string;
  readonly #options: LegacyCallOptions;
  readonly #open = new Map<string, OpenInputRequest>();
  #id = 0;
  #asked = 0;
  #active = true;
  #outcome: Outcome | undefined;
  #over = new AbortController();
  #told: Promise<void> = Promise.resolve();
  #wake = () => {};

  /** Sends the call. */
  constructor(options: LegacyCallOptions) {
    const { peer, server, call, task } = options;
    this.server = server;
    this.#options = options;
    const { method, params } = task ? { method: 'tasks/result', params: { taskId: task.taskId } } : requestOf(call);
    peer.request(method, params, this.#asking(call)).then(
      (value) => this.#settle({ value }),
      (error) => this.#settle({ error: this.#active ? error : stoppedWaiting(server, error) }),
    );
  }

  /** Our request id. */
  get id(): number {
    return this.#id;
  }

  get taskId(): string | undefined {
    return this.#options.task?.taskId;
  }

  /** A round is running: it began or went on, and has not come to its stop. */
  get isActive(): boolean {
    return this.#active;
  }

  get isAsking(): boolean {
    return this.#open.size > 0;
  }

  /** The request has been answered, or there will be no answer. */
  get isOver(): boolean {
    return this.#outcome !== undefined;
  }

  /** Takes a question of the server; settles with what the server is to be told. */
  async put(question: InputRequest, asking: PendingInput): Promise<JsonObject> {
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    if (this.adopt({ ...asking, question, resolve, reject })) return promise;
    throw new RpcError(REJECTED, `The user is asked ${MAX_INPUT_REQUESTS} things at once, not more.`);
  }

  /** Takes over a question that is open already; false when there are too many. */
  adopt(one: OpenInputRequest): boolean {
    if (this.#open.size >= MAX_INPUT_REQUESTS) return false;
    const key = `q${++this.#asked}`;
    this.#open.set(key, one);
    one.withdrawn.addEventListener('abort', () => this.#withdraw(key), { once: true });
    this.#wake();
    return true;
  }

  /** The next stop. Throws what the line threw when there will be none. */
  async next(): Promise<Stop> {
    while (!this.#outcome) {
      if (!this.isAsking) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (!this.#outcome) await wait(GATHER_MS);
      if (this.isAsking) break; // Else it has withdrawn what it asked.
    }
    this.#active = false;
    const outcome = this.#outcome;
    if (!outcome) {
      this.#options.peer.hold(this.#id);
      this.#over = new AbortController();
      return { kind: 'asks', questions: this.#questions(), over: this.#over.signal };
    }
    if ('error' in outcome) throw outcome.error;
    return { kind: 'answered', value: outcome.value };
  }

  /** The answers that fit an open question. Throws INPUT_INVALID. */
  check(answers: InputResponses): InputResponses {
    const fitting = Object.entries(answers).flatMap(([key, answer]) => {
      const question = this.#open.get(key)?.question;
      return question ? [[key, checkInputResponse(question, answer)] as const] : [];
    });
    return Object.fromEntries(fitting);
  }

  /** Goes on, in another round, with answers that were checked. */
  proceed(call: ResolvedCall, answers: InputResponses): void {
    this.#active = true;
    this.#options.peer.resume(this.#id, this.#asking(call));
    if (call.signal.aborted) return;
    for (const [key, answer] of Object.entries(answers)) {
      const one = this.#open.get(key);
      this.#open.delete(key);
      if (one) tell(one, answer);
    }
  }

  cancel(error: Error): void {
    this.#options.peer.cancel(this.#id, error);
  }

  #asking(call: ResolvedCall): RequestOptions {
    const { peer, task } = this.#options;
    const onId = (id: number) => (this.#id = id);
    if (!task) return { ...requestOptionsOf(call), onId, onGivenUp: (told) => (this.#told = told) };
    const deadlineMs = call.options.timeoutMs ?? MAX_TASK_MS;
    const longestMs = Math.max(deadlineMs, MAX_TASK_MS);
    const asking = {
      ...requestOptionsOf(call),
      deadlineMs,
      longestMs,
      progressOf: task.begunBy,
      repeatable: true,
      onId,
    };
    const onGivenUp = (told: Promise<void>) =>
      (this.#told = Promise.all([cancelTask(peer, task), told]).then(() => {}));
    return { ...asking, onGivenUp };
  }

  #withdraw(key: string): void {
    this.#open.get(key)?.resolve({});
    if (this.#open.delete(key) && !this.isAsking) this.#over.abort();
  }

  #questions(): Readonly<Record<string, InputRequest>> {
    return Object.fromEntries([...this.#open].map(([key, { question }]) => [key, question]));
  }

  /** Who has answered waits for nothing: what was guessed to be asked during this call belongs to another. */
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
    // A server that hears of its question before it hears that the call is cancelled takes it for the user's decision.
    await this.#told;
    for (const { reject } of this.#open.values()) reject(new RpcError(INTERNAL_ERROR, 'The call has ended.'));
    this.#open.clear();
    this.#over.abort();
  }
}

function tell({ resolve, reject }: OpenInputRequest, answer: InputResponse): void {
  const { failed } = answer as { failed?: { code: number; message: string } };
  if (failed) reject(new RpcError(failed.code, failed.message));
  else resolve(answer as JsonObject);
}

/** Only a lost line has nothing better to say of itself. */
function stoppedWaiting(server: string, error: unknown): unknown {
  if (!(error instanceof UpstreamError) || error.code !== 'UPSTREAM_FAILED') return error;
  return new UpstreamError('UPSTREAM_FAILED', `${server} stopped while it waited for the answer.`, {
    delivered: 'maybe',
    cause: error,
    details: error.details,
    fix: 'Look whether the call has had effects, then call again.',
  });
}
