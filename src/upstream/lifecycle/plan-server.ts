import type { ServerConfig } from '../../config/config.ts';
import { listSignatureOf } from '../../config/read/signature.ts';
import { connectorOfOrigin } from '../../config/schema/connector-of-origin.ts';
import { HEALTH_DEFAULTS, TREATMENT_DEFAULTS } from '../../config/schema/defaults.ts';
import type { RemoteEntry, ServerEntry, StdioEntry } from '../../config/schema/schema.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/json.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import type { ProtocolVersion } from '../../wire/mcp.ts';
import type { AuthParts } from '../auth/auth-parts.ts';
import type { ConnectorTokens } from '../auth/headers/connector-token.ts';
import type { Connect } from '../connection.ts';
import type { ServerRequests } from '../elicitation/server-requests.ts';
import { connectTimeoutOf } from '../protocol/connect-timeout.ts';
import { retryAsLegacy } from '../protocol/retry-as-legacy.ts';
import { connectInMemory, type Serve } from '../transports/connect-in-memory.ts';
import { type HttpPool, isLoopback } from '../transports/http-pool.ts';
import { type CredentialOf, canSignIn, connectWith, credentialOf } from './credential-of.ts';

export interface PlanOptions {
  readonly watchdog: Watchdog;
  readonly pool: HttpPool;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The checks and limits for requests of servers, shared by all connections. */
  readonly serverRequests?: ServerRequests;
  /** In-process servers, by the name their entries use. */
  readonly inProcess: ReadonlyMap<string, Serve>;
  /** The servers of scope `builtin`. No entry of a file or program can name them. */
  readonly builtIns?: readonly { readonly name: string; readonly connect: Connect }[];
  /** Returns the connect deadline for servers without one of their own, if the active configuration has one. */
  readonly connectTimeoutMs?: () => number | undefined;
  /** The parts of credentials. Without them nothing is remembered, and there is no OAuth. */
  readonly auth?: AuthParts;
  /** The connectors, for entries of type `proxy`. */
  readonly connectors?: ConnectorTokens;
  /** The working folder, by which an IDE is found. */
  readonly cwd?: string;
}

/** Plans how to connect a configured server, or why that is impossible. Starts nothing. */
export function planServer(config: ServerConfig, options: PlanOptions): ServerPlan {
  const { name, scope, entry } = config;
  const timeoutMs = () => connectTimeoutOf(entry, options.connectTimeoutMs?.());
  const credential = credentialOf(name, entry, options);
  const connect =
    whyNotConnectable(config) ?? prepared(connectorOf(config, options), options, { timeoutMs, entry, credential });
  return {
    name,
    scope,
    transport: transportOf(config),
    sandbox: sandboxOf(entry),
    credentials: credentialsOf(entry),
    // Computed on access: of hundreds of servers few are started, and fewer change.
    get signature() {
      return entry ? listSignatureOf(entry) : '';
    },
    get revision() {
      const problem = HeddleError.is(connect) ? connect.message : undefined;
      return canonicalJson({ scope, entry, problem } as unknown as JsonObject);
    },
    local: entry?.type === 'stdio',
    autoConnect: entry?.autoConnect ?? false,
    reconnect: entry?.reconnect ?? TREATMENT_DEFAULTS.reconnect,
    health: entry?.health ?? HEALTH_DEFAULTS,
    get connectTimeoutMs() {
      return timeoutMs();
    },
    protocol: entry?.protocol,
    extensions: Object.keys(entry?.extensions ?? {}),
    ...(credential && { credential }),
    connect,
  };
}

/** Returns the transport, also of an invalid entry as far as its text shows it. */
function transportOf({ entry, written = {} }: ServerConfig): string {
  const { command, url } = written;
  const implied = command === undefined ? url && 'http' : 'stdio';
  const type = entry?.type ?? written.type ?? implied;
  return type === 'sdk' ? 'in-process' : typeof type === 'string' ? type : 'unknown';
}

interface Preparing {
  readonly timeoutMs: () => number;
  readonly entry: ServerEntry | undefined;
  readonly credential: CredentialOf | undefined;
}

function prepared(
  connect: Connect | HeddleError,
  { serverRequests }: PlanOptions,
  { timeoutMs, entry, credential }: Preparing,
): Connect | HeddleError {
  if (HeddleError.is(connect)) return connect;
  const protocol = entry?.protocol;
  const fixed = { ...(serverRequests && { serverRequests }), ...(protocol && { protocol }) };
  const open = retryAsLegacy((options) => connect({ ...options, timeoutMs: timeoutMs(), ...fixed }));
  return connectWith(credential, protocol ? (options) => open({ ...options, protocol }) : open);
}

/** Returns why a server cannot be connected: its entry is invalid, untrusted, blocked or disabled. */
export function whyNotConnectable({ name, entry, problem, whyDisabled }: ServerConfig): HeddleError | undefined {
  if (problem || !entry) {
    const { code = 'CONFIG_INVALID', message = `The entry of ${name} is broken.`, fix, at } = problem ?? {};
    const location = at ? ` (${at.file}:${at.line}:${at.column})` : '';
    return new HeddleError(code, `${message}${location}`, fix ? { fix } : {});
  }
  if (!entry.enabled) {
    const { message, ...advice } = whyDisabled ?? { message: `${name} is disabled.` };
    return new HeddleError('SERVER_DISABLED', message, advice);
  }
  if (sandboxOf(entry) === 'none' && entry.type === 'stdio' && entry.sandbox) {
    return new HeddleError('SANDBOX_UNAVAILABLE', `${name} asks for a sandbox, which cannot be enforced here yet.`);
  }
  return undefined;
}

// Loaded when the first server of a transport is connected: few configurations use all transports.
const CONNECTORS = {
  stdio: async () => (await import('../transports/connect-stdio.ts')).connectStdio,
  http: async () => (await import('../transports/connect-http.ts')).connectHttp,
  sse: async () => (await import('../transports/connect-sse.ts')).connectSse,
  ws: async () => (await import('../transports/connect-ws.ts')).connectWs,
  ide: async () => (await import('../transports/connect-ide.ts')).connectIde,
};

const loading =
  <Needs extends unknown[]>(load: () => Promise<(...needs: Needs) => Connect>, ...needs: Needs): Connect =>
  async (options) =>
    (await load().catch(cannotLoad))(...needs)(options);

function cannotLoad(cause: Error): never {
  throw new UpstreamError('UPSTREAM_UNREACHABLE', `The transport cannot be loaded: ${cause.message}`, {
    delivered: 'no',
    cause,
  });
}

function connectorOf({ name, scope, entry }: ServerConfig, options: PlanOptions): Connect | HeddleError {
  switch (entry?.type) {
    case 'stdio':
      return loading(CONNECTORS.stdio, entry as StdioEntry, options.watchdog, options.env);
    case 'proxy':
      return noConnector(name, entry, options) ?? loading(CONNECTORS.http, entry, options.pool);
    case 'http':
      return loading(CONNECTORS.http, entry, options.pool);
    case 'sse':
      return loading(CONNECTORS.sse, entry, options.pool);
    case 'ws':
      return loading(CONNECTORS.ws, entry);
    case 'sse-ide':
    case 'ws-ide':
      return notLocal(name, entry) ?? loading(CONNECTORS.ide, entry, ideOptions(options));
    case 'sdk': {
      const serve = options.inProcess.get(entry.name);
      const connect =
        scope === 'builtin'
          ? options.builtIns?.find((one) => one.name === name)?.connect
          : serve && connectInMemory(serve);
      return connect ?? unsupported(name, `no in-process server is named ${entry.name}`);
    }
    default:
      return unsupported(name, 'its entry has no transport');
  }
}

function noConnector(name: string, { url }: RemoteEntry, { connectors }: PlanOptions): HeddleError | undefined {
  if (connectors && connectorOfOrigin(connectors.current(), url)) return undefined;
  const message = `${name} is of type \`proxy\`, and no connector has the origin ${new URL(url).origin}.`;
  const fix = 'Add the connector of that origin to `connectors`, or correct its `url`.';
  return new HeddleError('CONFIG_INVALID', message, { fix });
}

function notLocal(name: string, { type, url }: RemoteEntry): HeddleError | undefined {
  if (isLoopback(new URL(url).hostname)) return undefined;
  return new HeddleError(
    'CONFIG_INVALID',
    `${name} is of type \`${type}\`, so its \`url\` has to be on this machine.`,
    {
      fix: 'Write 127.0.0.1 as the host of its `url`, without a port to find the IDE by its lockfile.',
    },
  );
}

const ideOptions = ({ pool, env, cwd = process.cwd() }: PlanOptions) => ({ pool, env, workspace: cwd });

/** Returns the owner of the credentials of an entry. */
function credentialsOf(entry: ServerEntry | undefined): ServerPlan['credentials'] {
  return entry && canSignIn(entry) ? (entry.oauth?.credentials ?? 'shared') : 'none';
}

const unsupported = (name: string, reason: string) =>
  new HeddleError('TRANSPORT_UNSUPPORTED', `${name} cannot be connected: ${reason}.`);

/** Returns the sandbox of a server. `unsandboxed`: its entry has one that is not required and cannot be enforced. */
function sandboxOf(entry: ServerEntry | undefined): ServerStatus['sandbox'] {
  return entry?.type === 'stdio' && entry.sandbox?.required === false ? 'unsandboxed' : 'none';
}

/** A configured server, as its entry describes it. */
export interface ServerPlan {
  readonly name: string;
  readonly scope: string;
  readonly transport: string;
  readonly sandbox: ServerStatus['sandbox'];
  /** The owner of the credentials: all callers, or each caller for itself. `none`: no sign-in is possible. */
  readonly credentials: 'none' | 'shared' | 'user';
  /** Hash of command or URL. Cached lists are used only with the same signature. */
  readonly signature: string;
  /** Canonical text of the whole entry. A new revision restarts the server. */
  readonly revision: string;
  /** True for child processes, whose starts have a limit of their own. */
  readonly local: boolean;
  readonly autoConnect: boolean;
  /** Attempts and delay of a reconnect. `delayMs` is also how soon a call may retry a failed server. */
  readonly reconnect: { readonly maxAttempts: number; readonly delayMs: number };
  /** The interval of probes, and the misses in a row that make the server unhealthy. */
  readonly health: { readonly intervalMs: number; readonly misses: number };
  /** Deadline of the handshake and of each list request, by the active configuration. */
  readonly connectTimeoutMs: number;
  /** The only protocol version to speak, if its entry fixes one. */
  readonly protocol?: ProtocolVersion | undefined;
  /** The ids in `extensions` of its entry. */
  readonly extensions?: readonly string[];
  /** The credential of requests, by caller; absent if the transport has none. */
  readonly credential?: CredentialOf;
  /** Opens a connection; an error if the server cannot be connected. */
  readonly connect: Connect | HeddleError;
}
