import { abilitiesOf, type HostOptions, hostAsker } from './ask-host.ts';
import type { Call, Caller, Facts, JsonObject, Progress, Target } from './core/call.ts';
import { newCallId } from './core/call-id.ts';
import { HeddleError } from './core/errors.ts';
import type { NotificationFilter, NotificationHandler } from './core/notification.ts';
import { throughRounds } from './core/rounds.ts';
import type { Change, ServerStatus } from './core/server-status.ts';
import type { Heddle } from './heddle.ts';
import { type OpenOptions as OpenHeddleOptions, openHeddle as open } from './open-heddle.ts';

export type {
  AskedQuestion,
  Asking,
  Elicitation,
  ElicitationAnswer,
  HostOptions,
  Sampling,
} from './ask-host.ts';
export type { Answer, Facts, JsonObject, Progress, Question } from './core/call.ts';
export { type ErrorCode, type Fault, HeddleError, UpstreamError } from './core/errors.ts';
export type { Choice, Field } from './core/form.ts';
export type { Notification, NotificationFilter, NotificationHandler } from './core/notification.ts';
export type { Change, ServerStatus } from './core/server-status.ts';
export type { InProcessServer } from './upstream/given.ts';

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
}

export interface CallOptions {
  readonly timeoutMs?: number;
  /** Whether another server of the pool may be tried when the first certainly did nothing; true unless said. */
  readonly failover?: boolean;
  readonly preferredServer?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

export interface CallResult {
  /** The server's own result, verbatim: `content`, `structuredContent` and whatever else it said. */
  readonly value: JsonObject;
  /** The tool ran and says that it failed. */
  readonly isError: boolean;
  readonly server: string;
  readonly attempts: number;
  readonly latencyMs: number;
}

/** A running Heddle, as a program uses it. Every call passes the same pipeline as the gateway's and the CLI's. */
export interface HeddleClient extends AsyncDisposable {
  /** All tools. Starts only servers whose tools were never seen, and waits at most two seconds for them. */
  tools(): Promise<readonly Tool[]>;
  /** Calls a tool by public name, `server.tool`, or its own name where only one has it. Throws `HeddleError`. */
  call(name: string, input?: JsonObject, options?: CallOptions): Promise<CallResult>;
  readonly servers: {
    list(): Promise<readonly ServerStatus[]>;
    /** Connects one server; a failure is a status, not an exception. */
    connect(name: string, signal?: AbortSignal): Promise<ServerStatus>;
    /** Sends a notification of the program's own, as hosts do that bring their own servers; connects it first. */
    notify(name: string, method: string, params?: JsonObject): Promise<void>;
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

const PROGRAM: Caller = { id: 'library', roles: ['owner'], via: 'library' };

/**
 * Opens Heddle with the configuration of the project and the user. Servers
 * connect when they are first needed, not now.
 *
 * @example
 * await using heddle = await openHeddle();
 * const { value } = await heddle.call('filesystem.fs_read_file', { path: 'README.md' });
 */
export async function openHeddle(options: OpenOptions = {}): Promise<HeddleClient> {
  const can = abilitiesOf(options);
  const heddle = await open({ ...options, ...(can && { user: { principal: PROGRAM.id, can } }) });
  const close = () => heddle.close();
  return {
    tools: () => listTools(heddle),
    call: (name, input = {}, callOptions = {}) => send(heddle, toCall(name, input, callOptions), options),
    servers: {
      list: () => heddle.servers.list(PROGRAM),
      connect: (name, signal = new AbortController().signal) => heddle.servers.connect(PROGRAM, name, signal),
      notify: (name, method, params = {}) => heddle.servers.notify(PROGRAM, name, { method, params }),
    },
    changes: (signal) => heddle.changes(PROGRAM, signal),
    onNotification: (filter, handler) => heddle.onNotification(PROGRAM, filter, handler),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function listTools(heddle: Heddle): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  do {
    const page = await heddle.catalog.list(PROGRAM, cursor === undefined ? {} : { cursor });
    tools.push(...page.items.map(toTool));
    cursor = page.next;
  } while (cursor !== undefined);
  return tools;
}

const toTool = ({ publicName, servers, definition, facts }: Target): Tool => ({
  name: publicName,
  servers,
  definition,
  facts,
});

function toCall(name: string, input: JsonObject, options: CallOptions): Call {
  const { signal = new AbortController().signal, onProgress: report, ...rest } = options;
  return {
    id: newCallId(),
    kind: 'tool',
    name,
    input: structuredClone(input), // A call is a fact: what the program does to its object later is not part of it.
    meta: {},
    caller: PROGRAM,
    options: rest,
    signal,
    ...(report && { report }),
  };
}

async function send(heddle: Heddle, call: Call, host: HostOptions): Promise<CallResult> {
  const can = abilitiesOf(host);
  const result = can
    ? await throughRounds(heddle.dispatch, { ...call, can }, { ask: hostAsker(host, call.name) })
    : await heddle.dispatch(call);
  if (result.kind === 'complete') return { value: result.value, isError: result.isError, ...result.from };
  throw new HeddleError(
    'APPROVAL_REQUIRED',
    `${call.name} has a question for the user, which this program cannot ask.`,
  );
}
