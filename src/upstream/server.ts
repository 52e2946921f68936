import { abortable } from '../core/abortable.ts';
import type { JsonObject } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import type { ServerStatus } from '../core/server-status.ts';
import type { ServerMemory } from '../store/server-book.ts';
import type { Connect, Connection } from './connection.ts';
import type { Era } from './negotiate.ts';

/** One configured server, before anything is known of it but its entry. */
export interface ServerPlan {
  readonly name: string;
  readonly scope: string;
  readonly transport: string;
  readonly sandbox: ServerStatus['sandbox'];
  /** Another command or URL is another server: nothing is remembered across. */
  readonly signature: string;
  /** Of the whole entry: with another one the server is started anew. */
  readonly revision: string;
  /** Child processes are started a few at a time. */
  readonly local: boolean;
  readonly autoConnect: boolean;
  /** A failed server is tried again by a call, but not sooner than this. */
  readonly retryAfterMs: number;
  /** How to reach it, or why it cannot be. */
  readonly connect: Connect | HeddleError;
}

export interface ServerOptions {
  readonly plan: ServerPlan;
  readonly known: ServerMemory | undefined;
  readonly limited: <T>(task: () => Promise<T>) => Promise<T>;
  readonly clock: Clock;
  readonly onStatus: (status: ServerStatus) => void;
  readonly onTools: (tools: readonly JsonObject[], connection: Connection) => void;
}

const CONNECT_MS = 30_000;
const REFRESH_MS = 300;

/** A server over its whole life: at most one line at a time, shared by all callers, opened when it is needed. */
export class Server {
  readonly plan: ServerPlan;
  readonly #options: ServerOptions;
  readonly #closing = new AbortController();
  #status: ServerStatus;
  #attempt: Promise<Connection> | undefined;
  #connection: Connection | undefined;
  #failure: { readonly error: HeddleError; readonly at: number } | undefined;
  #era: Era | undefined;
  #refresh: NodeJS.Timeout | undefined;

  constructor(options: ServerOptions) {
    const { plan } = options;
    this.plan = plan;
    this.#options = options;
    this.#era = options.known?.era;
    this.#status = plainStatus(plan);
    const tools = options.known?.tools.length;
    if (tools !== undefined) this.#status = { ...this.#status, tools };
    if (HeddleError.is(plan.connect)) this.#status = { ...this.#status, ...failedStatus(plan.connect) };
  }

  get status(): ServerStatus {
    return this.#status;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** The open line, or the attempt under way, or a new one. An abort ends the wait, not the attempt. */
  connect(signal: AbortSignal): Promise<Connection> {
    if (this.#connection) return Promise.resolve(this.#connection);
    const { connect, retryAfterMs } = this.plan;
    if (HeddleError.is(connect)) return Promise.reject(connect);
    // Nothing is started for a caller who has gone, nor after the end.
    if (signal.aborted || this.#closing.signal.aborted) return Promise.reject(unwanted(this.plan.name));
    const { clock } = this.#options;
    if (this.#failure && clock() - this.#failure.at < retryAfterMs) return Promise.reject(this.#failure.error);
    this.#attempt ??= this.#open(connect).finally(() => {
      this.#attempt = undefined;
    });
    return abortable(this.#attempt, signal);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#refresh);
    await this.#attempt?.catch(() => {}); // It closes its own line.
    await this.#connection?.close();
  }

  /** Takes no new callers, lets those it has come to their end, then closes. */
  async retire(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#refresh);
    await this.#attempt?.catch(() => {});
    await this.#connection?.finish();
  }

  async #open(connect: Connect): Promise<Connection> {
    this.#move({ state: 'pending', attempt: [1, 1] });
    try {
      return await this.#options.limited(() => this.#openOnce(connect));
    } catch (thrown) {
      const error = HeddleError.from(thrown);
      this.#failure = { error, at: this.#options.clock() };
      this.#move({ ...failedStatus(error), attempt: [1, 1] });
      throw error;
    }
  }

  async #openOnce(connect: Connect): Promise<Connection> {
    const { name: server } = this.plan;
    const closing = this.#closing.signal;
    if (closing.aborted) throw unwanted(server); // It closed while this waited for its place.
    const startedAt = performance.now();
    const deadline = AbortSignal.timeout(CONNECT_MS);
    const signal = AbortSignal.any([closing, deadline]);
    const onToolsChanged = () => this.#scheduleRefresh();
    try {
      return await this.#adopt(await connect({ server, signal, known: this.#era, onToolsChanged }), signal, startedAt);
    } catch (thrown) {
      throw deadline.aborted ? tooSlow(server, thrown) : thrown;
    }
  }

  async #adopt(connection: Connection, signal: AbortSignal, startedAt: number): Promise<Connection> {
    try {
      const tools = await connection.listTools(signal);
      const { era, protocolVersion, serverInfo, capabilities, instructions } = connection.agreement;
      const connectMs = Math.round(performance.now() - startedAt);
      this.#connection = connection;
      this.#failure = undefined;
      if (connection.agreement.certain) this.#era = era;
      const info = { era, protocolVersion, serverInfo, capabilities, instructions, connectMs };
      this.#options.onTools(tools, connection);
      this.#move({ state: 'connected', attempt: [1, 1], health: 'ok', tools: tools.length, info });
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
    connection.closed.then(() => this.#lose(connection));
    return connection;
  }

  #lose(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    clearTimeout(this.#refresh);
    this.#refresh = undefined;
    if (!this.#closing.signal.aborted) this.#move({ state: 'pending', attempt: [0, 1], reason: 'its line dropped' });
  }

  // One refresh for a storm of notifications.
  #scheduleRefresh(): void {
    this.#refresh ??= setTimeout(() => {
      this.#refresh = undefined;
      const connection = this.#connection;
      connection?.listTools(this.#closing.signal).then(
        (tools) => {
          this.#options.onTools(tools, connection);
          this.#move({ ...this.#status, tools: tools.length });
        },
        () => {}, // The old list stays: a line that really broke says so by closing.
      );
    }, REFRESH_MS).unref();
  }

  #move(change: Partial<ServerStatus> & Pick<ServerStatus, 'state'>): void {
    const { tools } = this.#status; // What it had when last seen stays worth showing.
    this.#status = { ...plainStatus(this.plan), ...(tools !== undefined && { tools }), ...change };
    this.#options.onStatus(this.#status);
  }
}

function plainStatus({ name, scope, transport, sandbox }: ServerPlan): ServerStatus {
  return { name, scope, transport, state: 'pending', attempt: [0, 1], health: 'unknown', sandbox };
}

function failedStatus(error: HeddleError): Pick<ServerStatus, 'state' | 'reason' | 'fix'> {
  const state = error.code === 'SERVER_DISABLED' ? 'disabled' : error.code === 'AUTH_NEEDED' ? 'needs-auth' : 'failed';
  return { state, reason: error.message, fix: error.fix };
}

const unwanted = (server: string) =>
  new HeddleError('CALL_CANCELLED', `${server} was not connected: nobody wants it any more.`);
const tooSlow = (server: string, cause: unknown) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${server} was not ready within ${CONNECT_MS} ms.`, {
    delivered: 'no',
    cause,
    fix: `Run \`heddle doctor ${server}\` to see what it does meanwhile.`,
  });
