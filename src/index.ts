import type { Facts, JsonObject, Target } from './core/call.ts';
import { withPlainNumbers } from './core/exact-numbers.ts';
import type { NotificationFilter, NotificationHandler } from './core/records/notification.ts';
import type { Change, ServerStatus } from './core/records/server-status.ts';
import type { Category, Hit } from './heddle.ts';
import { capabilitiesOfHost, type HostOptions } from './library/host-input.ts';
import { type CallOptions, type CallResult, PROGRAM, send, toLibraryCall } from './library/library-call.ts';
import { listAll, type ResourceApi, resourceApi } from './library/resource-api.ts';
import { type HeddleOptions as OpenHeddleOptions, openHeddle as open } from './open-heddle.ts';
import type { InProcessServer } from './upstream/lifecycle/programmatic-servers.ts';

export type { Choice, Field } from './core/call/form.ts';
export type { Facts, InputRequest, InputResponse, JsonObject, Progress } from './core/call.ts';
export { type ErrorCode, type Fault, HeddleError, UpstreamError } from './core/errors.ts';
export type { Metrics } from './core/records/metrics.ts';
export type { Notification, NotificationFilter, NotificationHandler } from './core/records/notification.ts';
export type { Change, ServerStatus } from './core/records/server-status.ts';
export type { Category } from './heddle.ts';
export type {
  Elicitation,
  ElicitationAnswer,
  ElicitationContext,
  HostInputRequest,
  HostOptions,
  Sampling,
} from './library/host-input.ts';
export type { CallOptions, CallResult } from './library/library-call.ts';
export type {
  CompletionRef,
  Prompt,
  ReadResult,
  Resource,
  ResourceApi,
  ResourceTemplate,
  Update,
} from './library/resource-api.ts';
export type { InProcessServer } from './upstream/lifecycle/programmatic-servers.ts';

/** How Heddle is opened, and how the program answers what servers ask. */
export interface OpenOptions extends Omit<OpenHeddleOptions, 'user'>, HostOptions {}

/** One tool, under the name it is called by. */
export interface Tool {
  readonly name: string;
  /** Who can answer, in order of preference. */
  readonly servers: readonly string[];
  /** The tool exactly as its server wrote it, under its own name there. */
  readonly definition: JsonObject;
  /** What Heddle holds to be true of it. */
  readonly facts: Facts;
  /** What a person should know before trusting it, as `looks-like: <public name>`. */
  readonly flags: readonly string[];
  /** The version of the definition: SHA-256 of its canonical JSON. */
  readonly digest: string;
}

/** Which tools are meant: those that a server can answer, those in a category, or both. */
export interface ToolFilter {
  readonly server?: string;
  readonly category?: string;
}

/** A tool that was searched for. Scores compare the hits of one search, and nothing else. */
export interface FoundTool extends Tool {
  readonly score: number;
  readonly reason: Hit['reason'];
}

/** A running Heddle, as a program uses it. Every call passes the same pipeline as the gateway's and the CLI's. */
export interface HeddleClient extends ResourceApi, AsyncDisposable {
  /** All tools, or some. Starts only servers whose tools were never seen, and waits at most two seconds for them. */
  tools(filter?: ToolFilter): Promise<readonly Tool[]>;
  /** Calls a tool by public name, `server.tool`, or its own name where only one has it. Throws `HeddleError`. */
  call(name: string, input?: JsonObject, options?: CallOptions): Promise<CallResult>;
  readonly catalog: {
    /** One tool, by any name that `call` takes; starts its server where needed. Throws NAME_UNKNOWN or NAME_AMBIGUOUS. */
    describe(name: string, signal?: AbortSignal): Promise<Tool>;
    /** The tools that fit some words best: by name, then by words of the name, then of the description. */
    search(text: string, options?: { readonly limit?: number }): Promise<readonly FoundTool[]>;
    categories(): Promise<readonly Category[]>;
  };
  readonly servers: {
    list(): Promise<readonly ServerStatus[]>;
    /** Connects one server; a failure is a status, not an exception. */
    connect(name: string, signal?: AbortSignal): Promise<ServerStatus>;
    /** Sends a notification of the program's own, as hosts do that bring their own servers; connects it first. */
    notify(
      name: string,
      said: { readonly method: string; readonly params?: JsonObject },
      signal?: AbortSignal,
    ): Promise<void>;
    /**
     * Brings a server while Heddle runs: an entry as in `mcpServers`, taken literally, or one of the program's own.
     * It stays when files change, and wins over one of the same name in them. Throws NAME_TAKEN, CONFIG_INVALID or
     * SERVER_BLOCKED.
     *
     * @example
     * await heddle.servers.register('clock', { connect: (line) => server.connect(line) });
     */
    register(name: string, server: JsonObject | InProcessServer): Promise<ServerStatus>;
    /** Replaces a registered server; calls under way end where they began. */
    update(name: string, server: JsonObject | InProcessServer): Promise<ServerStatus>;
    /** Takes a registered server away again; calls under way come to their end. */
    unregister(name: string): Promise<void>;
  };
  /** What happens to servers and the catalog from now on. */
  changes(signal: AbortSignal): AsyncIterable<Change>;
  /**
   * Hears what connected servers say of their own accord: log lines, changed lists and resources, and whatever else.
   * Any number may; the function that comes back ends it.
   *
   * @example
   * heddle.onNotification({ method: 'notifications/message' }, ({ server, params }) => console.log(server, params.data));
   */
  onNotification(filter: NotificationFilter, handler: NotificationHandler): () => void;
  /** Ends every connection and every process that was started. */
  close(): Promise<void>;
}

/**
 * Opens Heddle with the configuration of the project and the user. Servers
 * connect when they are first needed, not now.
 *
 * @example
 * await using heddle = await openHeddle();
 * const { value } = await heddle.call('filesystem.fs_read_file', { path: 'README.md' });
 */
export async function openHeddle(options: OpenOptions = {}): Promise<HeddleClient> {
  const capabilities = capabilitiesOfHost(options);
  const heddle = await open({ ...options, ...(capabilities && { user: { principal: PROGRAM.id, capabilities } }) });
  const close = () => heddle.close();
  return {
    tools: async (filter = {}) => (await listAll(heddle, 'tool', filter)).map(toTool),
    call: async (name, input = {}, callOptions = {}) =>
      send(heddle, toLibraryCall({ kind: 'tool', name, input }, callOptions), options),
    ...resourceApi(heddle, options),
    catalog: {
      describe: async (name, signal = new AbortController().signal) =>
        toTool(await heddle.catalog.describe(PROGRAM, name, signal)),
      search: async (text, { limit } = {}) => {
        const hits = await heddle.catalog.search(PROGRAM, { text, ...(limit !== undefined && { limit }) });
        return hits.map(({ target, score, reason }) => ({ ...toTool(target), score, reason }));
      },
      categories: () => heddle.catalog.categories(PROGRAM),
    },
    servers: {
      list: () => heddle.servers.list(PROGRAM),
      connect: (name, signal = new AbortController().signal) => heddle.servers.connect(PROGRAM, name, signal),
      notify: (name, { method, params = {} }, signal) =>
        heddle.servers.notify(PROGRAM, name, { method, params, signal }),
      register: (name, server) => heddle.servers.register(PROGRAM, name, server),
      update: (name, server) => heddle.servers.update(PROGRAM, name, server),
      unregister: (name) => heddle.servers.unregister(PROGRAM, name),
    },
    changes: (signal) => heddle.changes(PROGRAM, signal),
    onNotification: (filter, handler) =>
      heddle.onNotification(PROGRAM, filter, (notification) => handler(withPlainNumbers(notification))),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const toTool = (target: Target): Tool => ({
  name: target.publicName,
  servers: target.servers,
  definition: target.definition,
  facts: target.facts,
  flags: target.flags,
  get digest() {
    return target.digest; // Worked out when first asked for.
  },
});
