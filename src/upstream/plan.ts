import type { ServerConfig } from '../config/config.ts';
import type { RemoteEntry, ServerEntry, StdioEntry } from '../config/schema.ts';
import { signatureOf } from '../config/signature.ts';
import type { JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { canonicalJson } from '../core/json.ts';
import type { ServerStatus } from '../core/server-status.ts';
import type { Watchdog } from '../process/watchdog.ts';
import { connectHttp } from './connect-http.ts';
import { connectInMemory, type Serve } from './connect-in-memory.ts';
import { connectStdio } from './connect-stdio.ts';
import type { Connect } from './connection.ts';
import type { HttpPool } from './http-pool.ts';
import type { ServerPlan } from './server.ts';

export interface PlanOptions {
  readonly watchdog: Watchdog;
  readonly pool: HttpPool;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** In-process servers, by the name their entries use. */
  readonly inProcess: ReadonlyMap<string, Serve>;
}

/** How a configured server would be reached, or why it cannot be. Starts nothing. */
export function planServer(config: ServerConfig, options: PlanOptions): ServerPlan {
  const { name, scope, entry } = config;
  return {
    name,
    scope,
    transport: entry?.type === 'sdk' ? 'in-process' : (entry?.type ?? 'unknown'),
    sandbox: sandboxOf(entry),
    // Worked out when asked for: of hundreds of servers few are started, and fewer change.
    get signature() {
      return entry ? signatureOf(entry) : '';
    },
    get revision() {
      return canonicalJson({ scope, entry, problem: config.problem?.message } as unknown as JsonObject);
    },
    local: entry?.type === 'stdio',
    autoConnect: entry?.autoConnect ?? false,
    retryAfterMs: entry?.reconnect.delayMs ?? 0,
    connect: obstacle(config) ?? connectorOf(config, options),
  };
}

function obstacle({ name, entry, problem }: ServerConfig): HeddleError | undefined {
  if (problem || !entry) {
    const { code = 'CONFIG_INVALID', message = `The entry of ${name} is broken.`, fix, at } = problem ?? {};
    const where = at ? ` (${at.file}:${at.line}:${at.column})` : '';
    return new HeddleError(code, `${message}${where}`, fix ? { fix } : {});
  }
  if (!entry.enabled) return new HeddleError('SERVER_DISABLED', `${name} is disabled.`);
  if (sandboxOf(entry) === 'none' && entry.type === 'stdio' && entry.sandbox) {
    return new HeddleError('SANDBOX_UNAVAILABLE', `${name} asks for a sandbox, which cannot be enforced here yet.`);
  }
  return undefined;
}

function connectorOf({ name, entry }: ServerConfig, options: PlanOptions): Connect | HeddleError {
  switch (entry?.type) {
    case 'stdio':
      return connectStdio(entry as StdioEntry, options.watchdog, options.env);
    case 'http':
      return unsupportedField(name, entry) ?? connectHttp(entry, options.pool);
    case 'sdk': {
      const serve = options.inProcess.get(entry.name);
      return serve ? connectInMemory(serve) : unsupported(name, `no in-process server is named ${entry.name}`);
    }
    default:
      return unsupported(name, `the transport ${entry?.type} is not supported yet`);
  }
}

// Saying nothing would be worse: the server would answer as if the field were wrong.
function unsupportedField(name: string, { oauth, headersHelper }: RemoteEntry): HeddleError | undefined {
  const field = oauth ? 'oauth' : headersHelper ? 'headersHelper' : undefined;
  return field && unsupported(name, `\`${field}\` is not supported yet`);
}

const unsupported = (name: string, why: string) =>
  new HeddleError('TRANSPORT_UNSUPPORTED', `${name} cannot be connected: ${why}.`);

/** `unsandboxed`: it asked for one, cannot have it, and says that it runs all the same. */
function sandboxOf(entry: ServerEntry | undefined): ServerStatus['sandbox'] {
  return entry?.type === 'stdio' && entry.sandbox?.required === false ? 'unsandboxed' : 'none';
}
