import { abortable } from '../../core/async/abortable.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { Era } from '../../wire/mcp.ts';
import type { Connection, ConnectOptions, ListKind } from '../connection.ts';
import { noSharedConnection, unwanted, withConnectDeadline } from './connect-deadline.ts';
import { describeServer, eventsBetween } from './describe-server.ts';
import { drainingConnections } from './draining.ts';
import { type Health, lossOf, watchHealth } from './health.ts';
import type { ServerPlan } from './plan-server.ts';
import { privateConnector } from './private/private-connector.ts';
import { type RetryTimer, retryTimer } from './retry-timer.ts';
import { type ServerDefinitions, serverDefinitions } from './server-definitions.ts';
import type { ConnectAttempt, ServerOptions } from './server-options.ts';
import {
  INITIAL_STATE,
  type ReconnectRules,
  reduce,
  type ServerState,
  type StateEffect,
  type StateEvent,
} from './server-state.ts';
import { openSharedConnection, prefersLegacy, type SharedConnection } from './shared-connection.ts';
import type { ServerSubscriptions } from './subscriptions.ts';

/** A configured server. Opens its shared connection when it is needed, reconnects it, and reports its states. */
export class Server {
  readonly plan: ServerPlan;
  readonly definitions: ServerDefinitions;
  readonly privately: ReturnType<typeof privateConnector>;
  readonly #options: ServerOptions;
  readonly #rules: ReconnectRules;
  readonly #health: Health;
  readonly #closing = new AbortController();
  readonly #draining = drainingConnections();
  #state: ServerState = INITIAL_STATE;
  #status: ServerStatus;
  #attempt: ConnectAttempt | undefined;
  #shared: SharedConnection | undefined;
  readonly #retry: RetryTimer;

  constructor(options: ServerOptions) {
    const { plan, cache, time, onCapabilityTools } = options;
    const { connect: error, reconnect, autoConnect, health } = plan;
    this.plan = plan;
    this.#options = options;
    this.#rules = { ...reconnect, autoConnect, misses: health.misses };
    this.#retry = retryTimer(time, reconnect.delayMs, () => this.#on({ kind: 'retry-due' }));
    this.definitions = serverDefinitions({ plan, cache, clock: time.clock, onCapabilityTools });
    this.privately = privateConnector({
      ...time,
      signal: this.#closing.signal,
      options,
      definitions: this.definitions,
      shared: () => this.connection,
      handlers: this.#handlers,
      withDeadline: (task) => this.#withDeadline(this.#closing.signal, task),
    });
    this.#health = watchHealth({
      plan,
      time,
      connection: () => this.connection,
      upMs: () => time.clock() - (this.#shared?.openedAt ?? time.clock()),
      state: () => this.#state,
      onEvent: (event) => this.#on(event),
    });
    if (HeddleError.is(error)) {
      const kind = error.code === 'SERVER_DISABLED' ? 'disabled' : 'barred';
      this.#state = reduce(INITIAL_STATE, { kind, error }, this.#rules).state;
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

  /** The shared connection, if it is open. */
  get connection(): Connection | undefined {
    return this.#shared?.connection;
  }

  /** The time since the running attempt to connect began; undefined without one. */
  get connectingMs(): number | undefined {
    return this.#attempt && this.#options.time.clock() - this.#attempt.startedAt;
  }

  /** Fetches the shared lists that are known to have changed; undefined when there are none. */
  settleLists(): Promise<void> | undefined {
    return this.#shared?.lists.settle();
  }

  /** Returns the open shared connection, or waits for the running attempt or a new one. An abort ends the wait, not the attempt. */
  connect(signal: AbortSignal): Promise<Connection> {
    if (this.#shared) return Promise.resolve(this.#shared.connection);
    if (this.privately.users && !('error' in this.#state)) return Promise.reject(noSharedConnection(this.name));
    if (this.#state.state === 'needs-auth' && this.plan.credential) {
      // Throws the refusal again, without a request, unless a newer credential or time has ended it.
      const ready = this.plan.credential().prepare(signal);
      return ready.then(() => this.#on({ kind: 'signed-in' })).then(() => this.connect(signal));
    }
    // Starts nothing for a caller that has gone.
    if (signal.aborted) return Promise.reject(unwanted(this.name));
    this.#on({ kind: 'wanted', at: this.#options.time.clock() });
    if (this.#attempt) return abortable(this.#attempt.promise, signal);
    return Promise.reject('error' in this.#state ? this.#state.error : unwanted(this.name));
  }

  /** Probes an idle server, or sees whether the sign-in that it needs has happened. */
  check(): Promise<void> {
    return this.#health.check();
  }

  /** Closes the shared connection, at once or after the calls in flight; the next call opens a new one. */
  disconnect(how: 'close' | 'drain' = 'close'): Promise<void> {
    return this.#end({ kind: 'disconnected' }, how);
  }

  close(): Promise<void> {
    this.#closing.abort();
    return this.#end({ kind: 'closed' }, 'close');
  }

  /** Takes no new calls, and closes when the calls in flight have ended. */
  retire(): Promise<void> {
    this.#closing.abort();
    return this.#end({ kind: 'closed' }, 'drain');
  }

  async #end(event: StateEvent, how: 'close' | 'drain'): Promise<void> {
    const attempt = this.#attempt?.promise;
    const shared = this.#detach();
    this.#on(event);
    const ended = how === 'drain' ? [this.#draining.add(shared)] : [shared?.close(), this.#draining.close()];
    // The attempt closes its own connection.
    await Promise.all([attempt?.catch(() => {}), ...ended]);
  }

  #on(event: StateEvent): void {
    const [before, status] = [this.#state, this.#status];
    const { state, effects } = reduce(before, event, this.#rules);
    if (state === before) return;
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
    this.#status = this.#describe();
    for (const published of eventsBetween(before, state)) {
      this.#options.onStatus(published === 'closed' ? status : this.#status, published);
    }
  }

  #perform(effect: StateEffect): void {
    if (effect === 'open') this.#begin();
    else if (effect === 'wait') this.#retry.wait('attempt' in this.#state ? this.#state.attempt : 1);
    else if (effect === 'close') void this.#detach()?.close();
    else if (effect === 'drain') void this.#draining.add(this.#detach());
    else {
      this.#retry.cancel();
      this.#attempt?.abort.abort();
      this.#attempt = undefined;
    }
  }

  #begin(): void {
    const abort = new AbortController();
    const startedAt = this.#options.time.clock();
    this.#attempt = { abort, startedAt, promise: this.#open(abort.signal) };
    this.#attempt.promise.catch(() => {}); // The status has the error, if no caller waits for this attempt.
  }

  async #open(wanted: AbortSignal): Promise<Connection> {
    try {
      const known = prefersLegacy(this.#options.user) ? 'legacy' : this.definitions.era.known();
      const shared = await this.#withDeadline(wanted, (signal) => this.#openShared(known, signal));
      if (!wanted.aborted) return this.#adopt(shared, known);
      shared.lists.close();
      await shared.connection.close();
      throw unwanted(this.name);
    } catch (thrown) {
      const error = HeddleError.from(thrown);
      if (!wanted.aborted) this.#fail(error);
      throw error;
    }
  }

  async #openShared(known: Era | undefined, signal: AbortSignal): Promise<SharedConnection> {
    const { connect, name: server } = this.plan;
    if (HeddleError.is(connect)) throw connect;
    const { user, time } = this.#options;
    return openSharedConnection(
      connect,
      {
        ...this.#handlers,
        server,
        signal,
        known,
        urlTransport: this.definitions.urlTransport(),
        capabilities: user?.capabilities ?? NO_CAPABILITIES,
        onNotification: (method, params) => this.#onNotification(method, params),
      },
      {
        ...time,
        signal: this.#closing.signal,
        onList: (kind, items) => this.#take(kind, items),
        onFailure: (kind, thrown) => {
          this.definitions.fail(kind, HeddleError.from(thrown));
          this.#status = this.#describe();
        },
      },
    );
  }

  #adopt(shared: SharedConnection, known: Era | undefined): Connection {
    const { connection } = shared;
    const { clock } = this.#options.time;
    this.#attempt = undefined;
    this.#shared = shared;
    this.definitions.era.record(known, connection);
    this.definitions.extensions.take(connection.agreement.capabilities);
    this.#on({ kind: 'opened' });
    this.definitions.saveConnected(connection.agreement);
    void this.#options.subscriptions.shared.attach(connection);
    connection.closed.then(() => {
      if (this.#shared !== shared) return;
      this.#detach();
      this.#on({ kind: 'dropped', ...lossOf(connection), upMs: clock() - shared.openedAt, at: clock() });
    });
    return connection;
  }

  #fail(error: HeddleError): void {
    this.#attempt = undefined;
    this.definitions.invalidate(error);
    // A server that refused will refuse again. A server that was unreachable or broke may come back.
    const mayTryAgain = error instanceof UpstreamError && error.code !== 'UPSTREAM_REFUSED';
    const kind = error.code === 'AUTH_NEEDED' ? 'auth-needed' : 'refused';
    this.#on({ kind, error, mayTryAgain, at: this.#options.time.clock() });
  }

  /** Forgets the shared connection without closing it. */
  #detach(): Connection | undefined {
    const shared = this.#shared;
    if (!shared) return undefined;
    this.#shared = undefined;
    this.definitions.clearFailures();
    shared.lists.close();
    this.#options.subscriptions.shared.detach();
    return shared.connection;
  }

  readonly #handlers: Pick<ConnectOptions, 'onTrouble' | 'onAuthNeeded'> = {
    onTrouble: (reason) => this.#on({ kind: 'trouble', reason }),
    onAuthNeeded: (error) => this.#on({ kind: 'auth-needed', error, at: this.#options.time.clock() }),
  };

  #onNotification(method: string, params: JsonObject): void {
    if (this.#state.state === 'closed') return; // A newer server has this name now.
    this.#health.onMessage();
    this.#options.onNotification(method, params);
  }

  #take(kind: ListKind, items: readonly JsonObject[]): void {
    const isNew = this.definitions.take(kind, items);
    this.#status = this.#describe();
    this.#options.onList(kind, items);
    if (isNew) this.#options.onStatus(this.#status, 'list-changed', { list: kind });
    if (isNew && kind === 'tools') this.definitions.capabilityLists.invalidate();
    if (this.#shared) this.definitions.save();
  }

  #withDeadline<T>(wanted: AbortSignal, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { limited, time } = this.#options;
    const { connectTimeoutMs: timeoutMs } = this.plan;
    return withConnectDeadline({ server: this.name, timeoutMs, limited, timer: time.timer, wanted }, task);
  }

  #describe(): ServerStatus {
    return describeServer(this.plan, this.#state, {
      lists: this.definitions.lists(),
      trouble: this.definitions.failure(),
      retryAt: this.#retry.at,
      failure: this.#options.cache.failure(this.plan),
      info: this.#shared?.info,
      urlTransport: this.definitions.urlTransport(),
    });
  }
}
