import { abortable } from '../../core/async/abortable.ts';
import { checkInputResponse } from '../../core/call/check-input-response.ts';
import { type InputRequests, runToCompletion } from '../../core/call/run-to-completion.ts';
import type { Call, Handler, InputResponse, InputResponses, JsonObject, Progress, Result } from '../../core/call.ts';
import type { Clock } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { withoutReserved } from '../reserved-meta.ts';
import { toCallError } from '../to-rpc-error.ts';
import { toModernInputRequests } from './modern-input-requests.ts';

export interface GatewayTaskOptions {
  readonly heddle: Pick<Heddle, 'dispatch' | 'catalog'>;
  readonly call: Call;
  readonly ttlMs: number;
  readonly clock: Clock;
  /** Told when it is over and its answer waits. */
  readonly onOver?: () => void;
}

interface Asking {
  readonly questions: InputRequests;
  readonly answers: Record<string, InputResponse>;
  readonly resolve: (answers: InputResponses) => void;
}

const POLL_MS = 1000;

/** One call of a client that may be told to ask for the answer later. It then goes on without the request it came in. */
export class GatewayTask {
  /** How the first round ended. */
  readonly first: Promise<Result>;
  /** What it is found by, once it is held. */
  ticket = '';
  readonly #options: GatewayTaskOptions;
  readonly #createdAt: number;
  readonly #leave = new AbortController();
  readonly #onAbort = () => this.#leave.abort();
  #updatedAt: number;
  #isHeld = false;
  #message: string | undefined;
  #asking: Asking | undefined;
  #end: JsonObject | undefined;
  #bytes = 0;

  /** Sends the call. */
  constructor(options: GatewayTaskOptions) {
    const { call, heddle, clock } = options;
    this.#options = options;
    this.#createdAt = clock();
    this.#updatedAt = this.#createdAt;
    call.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (call.signal.aborted) this.#leave.abort();
    this.first = heddle.dispatch(this.#round(call));
    const settled = () => call.signal.removeEventListener('abort', this.#onAbort);
    this.first.then(settled, settled);
  }

  /** It is answered, or there will be no answer. */
  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /** About how much its answer takes. */
  get bytes(): number {
    return this.#bytes;
  }

  get ttlMs(): number {
    return this.#options.ttlMs;
  }

  /** From now on the end of its request is not its end. */
  hold(): void {
    const { call, heddle } = this.#options;
    call.signal.removeEventListener('abort', this.#onAbort);
    this.#isHeld = true;
    let begun: Promise<Result> | undefined = this.first;
    const dispatch: Handler = (round) => {
      const result = begun ?? heddle.dispatch(round);
      begun = undefined;
      return result;
    };
    const describe = ({ caller, name, signal }: Call) => heddle.catalog.describe(caller, name, signal);
    const ask = (questions: InputRequests, _server: string, signal: AbortSignal) => this.#ask(questions, signal);
    runToCompletion(dispatch, this.#round(call), { ask, describe }).then(
      ({ value }) => this.#finish({ status: 'completed', result: withoutReserved(value) }),
      (thrown) => this.#finish(toEnd(thrown, call)),
    );
  }

  /** What a client is told of it, in the words of MCP, without its id. */
  describe(): JsonObject {
    const { ttlMs } = this.#options;
    const open = this.#asking && { status: 'input_required', inputRequests: toModernInputRequests(this.#open()) };
    return {
      ...(this.#end ?? open ?? { status: 'working' }),
      ...(this.#message !== undefined && { statusMessage: this.#message }),
      createdAt: new Date(this.#createdAt).toISOString(),
      lastUpdatedAt: new Date(this.#updatedAt).toISOString(),
      ttlMs,
      pollIntervalMs: POLL_MS,
    };
  }

  /** Takes what answers an open question, and goes on once all are answered. Throws INPUT_INVALID. */
  answer(answers: InputResponses): void {
    const asking = this.#asking;
    if (!asking) return;
    const fitting = Object.entries(this.#open()).flatMap(([key, question]) => {
      const given = Object.hasOwn(answers, key) ? answers[key] : undefined;
      return given === undefined ? [] : [[key, checkInputResponse(question, given)] as const];
    });
    for (const [key, one] of fitting) asking.answers[key] = one;
    this.#touch();
    if (Object.keys(this.#open()).length > 0) return;
    this.#asking = undefined;
    asking.resolve(asking.answers);
  }

  cancel(): void {
    if (this.isOver) return;
    this.#finish({ status: 'cancelled' });
    this.#leave.abort();
  }

  /** The same call, without what can only be told while its request is open. */
  #round(call: Call): Call {
    const { log } = call;
    const onMessage = (params: JsonObject) => this.#isHeld || log?.onMessage(params);
    return {
      ...call,
      signal: this.#leave.signal,
      // Whoever says how far it is may take longer.
      onProgress: (progress) => this.#report(progress),
      ...(log && { log: { ...log, onMessage } }),
    };
  }

  #report(progress: Progress): void {
    if (typeof progress.message === 'string') this.#message = progress.message;
    this.#touch();
    if (!this.#isHeld) this.#options.call.onProgress?.(progress);
  }

  #ask(questions: InputRequests, signal: AbortSignal): Promise<InputResponses> {
    const { promise, resolve } = Promise.withResolvers<InputResponses>();
    const asking: Asking = { questions, answers: {}, resolve };
    this.#asking = asking;
    this.#touch();
    return abortable(promise, signal).finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
  }

  #open(): InputRequests {
    const { questions = {}, answers = {} } = this.#asking ?? {};
    return Object.fromEntries(Object.entries(questions).filter(([key]) => !Object.hasOwn(answers, key)));
  }

  #finish(end: JsonObject): void {
    if (this.isOver) return;
    this.#end = end;
    this.#asking = undefined;
    this.#message = undefined;
    this.#bytes = JSON.stringify(end).length;
    this.#touch();
    this.#options.onOver?.();
  }

  #touch(): void {
    this.#updatedAt = this.#options.clock();
  }
}

function toEnd(thrown: unknown, { capabilities }: Call): JsonObject {
  try {
    return { status: 'completed', result: toCallError(thrown, { era: 'modern', capabilities }) };
  } catch (error) {
    return { status: 'failed', error: RpcError.fromError(error).toError() };
  }
}
