import { abortable } from '../../core/async/abortable.ts';
import { capabilitiesKey, NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { ConnectionUser } from '../../core/call/private-user.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import { backoffMs } from '../../core/time.ts';
import type { Connection, ConnectOptions, ListKind } from '../connection.ts';
import type { Era } from '../protocol/negotiate.ts';
import { unwanted, withConnectDeadline } from './connect-deadline.ts';
import { describeServer, eventsBetween } from './describe-server.ts';
import { drainingConnections } from './draining.ts';
import { type Health, watchHealth } from './health.ts';
import { dropped } from './lost-server.ts';
import type { ServerPlan } from './plan-server.ts';
import { prefersLegacy, takesAnother } from './private-connections.ts';
import { type PrivateSide, privateSide } from './private-side.ts';
import { type Knowledge, knowledge } from './server-knowledge.ts';
import type { Attempt, ServerOptions } from './server-options.ts';
import { type Effect, NEW, type Rules, reduce, type ServerState, type StateEvent } from './server-state.ts';
import { openSharedConnection, type SharedConnection } from './shared-connection.ts';
import type { ServerSubscriptions } from './subscriptions.ts';

/** A server over its whole life: one line for all who cannot be asked anything, opened when it is needed. */
export class Server {
  readonly plan: ServerPlan;
  readonly privately: PrivateSide;
  readonly #options: ServerOptions;
  readonly #rules: Rules;
  readonly #known: Knowledge;
  readonly #health: Health;
  readonly #closing = new AbortController();
  readonly #finishing = drainingConnections();
  #state: ServerState = NEW;
  #status: ServerStatus;
  #attempt: Attempt | undefined;
  #main: SharedConnection | undefined;
  #retry: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(options: ServerOptions) {
    const { plan, known, time } = options;
    const { connect: error, reconnect, autoConnect } = plan;
    this.plan = plan;
    this.#options = options;
    this.#rules = { ...reconnect, autoConnect };
    this.#known = knowledge(plan, known, time.clock);
    this.privately = privateSide({
      ...time,
      signal: this.#closing.signal,
      options,
      known: () => this.#known.era.known(),
      main: () => this.connection,
      listeners: this.#listeners,
      inTime: (task) => this.#inTime(this.#closing.signal, task),
      remember: (abilities, tools) => this.#remember(abilities, tools),
    });
    this.#health = watchHealth({
      time,
      connection: () => this.connection,
      upMs: () => time.clock() - (this.#main?.openedAt ?? time.clock()),
      state: () => this.#state,
      on: (event) => this.#on(event),
    });
    if (HeddleError.is(error)) {
      const kind = error.code === 'SERVER_DISABLED' ? 'disabled' : 'barred';
      this.#state = reduce(NEW, { kind, error }, this.#rules).state;
    }
    this.#status = this.#describe();
  }

  get name(): string {
    return this.plan.name;
  }

  get status(): ServerStatus {
    return this.#status;
  }

  get subscriptions(): ServerSubscriptions {
    return this.#options.subscriptions;
  }

  /** The main line, if it is open. */
  get connection(): Connection | undefined {
    return this.#main?.connection;
  }

  /** The line a call may use at once, if there is one. */
  ready(user: ConnectionUser): Connection | undefined {
    const main = this.#main?.connection;
    const { lines, user: only } = this.#options;
    const isShared = !main || (this.usesShared(user) && takesAnother(main, only));
    return isShared ? main : lines.ready(this.privately, user);
  }

  /** Tests whether a user belongs on the shared connection, as far as is known before there is one. */
  usesShared(user: ConnectionUser): boolean {
    return this.privately.usesShared(user);
  }

  /** Fetches the lists that this user sees and that are known to have changed; undefined when there are none. */
  settleLists(user: ConnectionUser): Promise<void> | undefined {
    if (this.usesShared(user)) return this.#main?.lists.settle();
    return this.#options.lines.ensureFeed(this.privately, user)?.settle();
  }

  /** The open main line, or the attempt under way, or a new one. An abort ends the wait, not the attempt. */
  connect(signal: AbortSignal): Promise<Connection> {
    if (this.#main) return Promise.resolve(this.#main.connection);
    // Nothing is started for a caller who has gone.
    if (signal.aborted) return Promise.reject(unwanted(this.name));
    this.#on({ kind: 'wanted', at: this.#options.time.clock() });
    if (this.#attempt) return abortable(this.#attempt.promise, signal);
    return Promise.reject('error' in this.#state ? this.#state.error : unwanted(this.name));
  }

  /** Asks an idle server whether it is still there. */
  check(): Promise<void> {
    return this.#health.check();
  }

  /** Ends all lines; the next call opens new ones. */
  disconnect(): Promise<void> {
    return this.#end({ kind: 'disconnected' }, 'close');
  }

  close(): Promise<void> {
    this.#closing.abort();
    return this.#end({ kind: 'closed' }, 'close');
  }

  /** Takes no new callers, lets those it has come to their end, then closes. */
  retire(): Promise<void> {
    this.#closing.abort();
    return this.#end({ kind: 'closed' }, 'finish');
  }

  async #end(event: StateEvent, how: 'close' | 'finish'): Promise<void> {
    const attempt = this.#attempt?.promise;
    const main = this.#letGo();
    this.#on(event);
    const ended = how === 'finish' ? [this.#finishing.add(main)] : [main?.close(), this.#finishing.close()];
    // The attempt closes its own line.
    await Promise.all([attempt?.catch(() => {}), ...ended, this.#options.lines.end(this.privately, how)]);
  }

  #on(event: StateEvent): void {
    const [before, status] = [this.#state, this.#status];
    const { state, effects } = reduce(before, event, this.#rules);
    if (state === before) return;
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
    this.#status = this.#describe();
    for (const told of eventsBetween(before, state)) {
      this.#options.onStatus(told === 'closed' ? status : this.#status, told);
    }
  }

  #perform(effect: Effect): void {
    if (effect === 'open') this.#begin();
    else if (effect === 'wait') this.#wait();
    else if (effect === 'hang-up') void this.#letGo()?.close();
    else if (effect === 'wind-down') void this.#finishing.add(this.#letGo());
    else {
      this.#retry?.cancel();
      this.#attempt?.abort.abort();
      this.#attempt = undefined;
    }
  }

  #wait(): void {
    const { clock, timer, random } = this.#options.time;
    const attempt = 'attempt' in this.#state ? this.#state.attempt : 1;
    const delayMs = backoffMs(this.#rules.delayMs, attempt, random);
    this.#retry = { at: clock() + delayMs, cancel: timer(delayMs, () => this.#on({ kind: 'retry-due' })) };
  }

  #begin(): void {
    const abort = new AbortController();
    const attempt: Attempt = { abort, promise: this.#open(abort.signal) };
    attempt.promise.catch(() => {}); // Its status says why, when nobody waits for it.
    this.#attempt = attempt;
  }

  async #open(wanted: AbortSignal): Promise<Connection> {
    try {
      const known = prefersLegacy(this.#options.user) ? 'legacy' : this.#known.era.known();
      const main = await this.#inTime(wanted, (signal) => this.#openMain(known, signal));
      if (!wanted.aborted) return this.#adopt(main, known);
      main.lists.close();
      await main.connection.close();
      throw unwanted(this.name);
    } catch (thrown) {
      const error = HeddleError.from(thrown);
      if (!wanted.aborted) this.#fail(error);
      throw error;
    }
  }

  async #openMain(known: Era | undefined, signal: AbortSignal): Promise<SharedConnection> {
    const { connect, name: server } = this.plan;
    if (HeddleError.is(connect)) throw connect;
    const { user, time } = this.#options;
    const hear = (method: string, params: JsonObject) => this.#hear(method, params);
    return openSharedConnection(
      connect,
      {
        ...this.#listeners,
        server,
        signal,
        known,
        capabilities: user?.capabilities ?? NO_CAPABILITIES,
        onNotification: hear,
      },
      {
        ...time,
        signal: this.#closing.signal,
        onList: (kind, items) => this.#take(kind, items),
        onFailure: (kind, thrown) => {
          this.#known.miss(kind, HeddleError.from(thrown));
          this.#status = this.#describe();
        },
      },
    );
  }

  #adopt(main: SharedConnection, known: Era | undefined): Connection {
    const { connection } = main;
    const { clock } = this.#options.time;
    this.#attempt = undefined;
    this.#main = main;
    this.#known.era.record(known, connection.agreement);
    this.#on({ kind: 'opened' });
    this.#remember();
    void this.#options.subscriptions.shared.attach(connection);
    connection.closed.then(() => {
      if (this.#main !== main) return;
      this.#letGo();
      this.#on({ kind: 'dropped', error: dropped(this.name), upMs: clock() - main.openedAt, at: clock() });
    });
    return connection;
  }

  #fail(error: HeddleError): void {
    this.#attempt = undefined;
    this.#known.era.invalidate(error);
    // What was answered with a refusal will be so again; what was not reached, or broke, may come back.
    const mayTryAgain = error instanceof UpstreamError && error.code !== 'UPSTREAM_REFUSED';
    const kind = error.code === 'AUTH_NEEDED' ? 'auth-needed' : 'refused';
    this.#on({ kind, error, mayTryAgain, at: this.#options.time.clock() });
  }

  /** Forgets the main line, without closing it. */
  #letGo(): Connection | undefined {
    const main = this.#main;
    if (!main) return undefined;
    this.#main = undefined;
    this.#known.forgetTroubles();
    main.lists.close();
    this.#options.subscriptions.shared.detach();
    return main.connection;
  }

  readonly #listeners: Pick<ConnectOptions, 'onTrouble' | 'onAuthNeeded'> = {
    onTrouble: (reason) => this.#on({ kind: 'trouble', reason }),
    onAuthNeeded: (error) => this.#on({ kind: 'auth-needed', error, at: this.#options.time.clock() }),
  };

  #hear(method: string, params: JsonObject): void {
    if (this.#state.state === 'closed') return; // Its successor speaks for this name now.
    this.#health.heard();
    this.#options.onNotification(method, params);
  }

  #take(kind: ListKind, items: readonly JsonObject[]): void {
    const isNew = this.#known.take(kind, items);
    this.#status = this.#describe();
    this.#options.onList(kind, items);
    if (isNew) this.#options.onStatus(this.#status, 'list-changed', { list: kind });
    if (isNew && kind === 'tools') this.privately.able.doubt();
    if (this.#main) this.#remember();
  }

  #remember(abilities = capabilitiesKey(this.#options.user?.capabilities), tools?: readonly JsonObject[]): void {
    const memory = this.#known.memory(abilities, tools);
    if (memory) this.#options.remember(memory);
  }

  #inTime<T>(wanted: AbortSignal, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { limited, time } = this.#options;
    const { connectTimeoutMs: timeoutMs } = this.plan;
    return withConnectDeadline({ server: this.name, timeoutMs, limited, timer: time.timer, wanted }, task);
  }

  #describe(): ServerStatus {
    return describeServer(this.plan, this.#state, {
      lists: this.#known.lists(),
      trouble: this.#known.trouble(),
      retryAt: this.#retry?.at,
      info: this.#main?.info,
    });
  }
}
