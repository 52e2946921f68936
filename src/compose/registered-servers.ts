import type { Config, ServerConfig } from '../config/config.ts';
import type { JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { unknownServer } from '../core/records/unknown-server.ts';
import { inProcessOf, type ProgramServer, toServerConfigs } from '../upstream/lifecycle/programmatic-servers.ts';
import type { Serve } from '../upstream/transports/connect-in-memory.ts';
import type { ActiveConfig } from './active-config.ts';

export interface RegisteredServersOptions {
  /** Reads the configuration with these servers in addition to those of files. */
  readonly read: (registered: readonly ServerConfig[]) => Promise<Config>;
  readonly active: () => ActiveConfig;
  /** Activates another configuration. */
  readonly adopt: (config: Config) => void;
  readonly inProcess: Map<string, Serve>;
  /** Aborts when Heddle closes. Nothing is activated after it. */
  readonly closing: AbortSignal;
}

/** The servers registered at run time. They survive reloads of files, and win over servers of files by name. */
export interface RegisteredServers {
  /** Reads the configuration with the registered servers. */
  read(): Promise<Config>;
  /** Adds a server. Throws NAME_TAKEN, CONFIG_INVALID, or SERVER_BLOCKED if an organisation forbids it. */
  register(name: string, server: JsonObject | ProgramServer): Promise<void>;
  /** Replaces a server. Calls in flight end on their connection. Throws NAME_UNKNOWN for a server not registered. */
  update(name: string, server: JsonObject | ProgramServer): Promise<void>;
  unregister(name: string): Promise<void>;
}

type Registered = ReadonlyMap<string, ServerConfig>;

export function registeredServers(options: RegisteredServersOptions): RegisteredServers {
  const { active, adopt, inProcess, closing } = options;
  let registered: Registered = new Map();
  let last: Promise<unknown> = Promise.resolve();

  async function read(): Promise<Config> {
    for (;;) {
      const current = registered;
      const config = await options.read([...current.values()]);
      if (current === registered) return config; // Else a server was registered during the read.
    }
  }

  // Runs changes one after the other: each checks names after the change before it.
  function inTurn(act: () => Promise<void>): Promise<void> {
    const done = last.then(act);
    last = done.catch(() => {});
    return done;
  }

  /** Activates the server of one name. All other servers stay, even if their files have changed. */
  async function settle(name: string, next: Registered): Promise<void> {
    const before = registered;
    registered = next;
    try {
      const found = (await read()).servers.get(name);
      if (closing.aborted) throw new HeddleError('CALL_CANCELLED', 'Heddle is closing.');
      if (next.has(name) && found?.problem) throw new HeddleError(found.problem.code, found.problem.message);
      const { config } = active();
      adopt({ ...config, servers: replaced(config.servers, name, found) });
    } catch (thrown) {
      registered = before;
      throw thrown;
    }
  }

  function requireRegistered(name: string): void {
    if (!registered.has(name)) throw notRegistered(name, active().configs.get(name));
  }

  async function put(name: string, server: JsonObject | ProgramServer): Promise<void> {
    const before = registered.get(name);
    const config = await toConfig(name, server, inProcess);
    try {
      await settle(name, new Map([...registered, [name, config]]));
    } catch (thrown) {
      forget(config, inProcess);
      throw thrown;
    }
    forget(before, inProcess);
  }

  return {
    read,
    register: (name, server) =>
      inTurn(async () => {
        const owner = active().configs.get(name);
        if (owner) throw taken(name, owner);
        await put(name, server);
      }),
    update: (name, server) =>
      inTurn(async () => {
        requireRegistered(name);
        await put(name, server);
      }),
    unregister: (name) =>
      inTurn(async () => {
        requireRegistered(name);
        const gone = registered.get(name);
        await settle(name, new Map([...registered].filter(([other]) => other !== name)));
        forget(gone, inProcess);
      }),
  };
}

/** Converts a server to its configuration. An in-process server gets a unique key, so that no older one is connected. */
async function toConfig(
  name: string,
  server: JsonObject | ProgramServer,
  inProcess: Map<string, Serve>,
): Promise<ServerConfig> {
  const [config] = (await toServerConfigs({ [name]: server }, 'dynamic')) as [ServerConfig];
  const serve = inProcessOf({ [name]: server }).get(name);
  if (!serve || config.entry?.type !== 'sdk') return config;
  const key = inProcess.has(name) ? `${name}#${crypto.randomUUID()}` : name;
  inProcess.set(key, serve);
  return { ...config, entry: { ...config.entry, name: key } };
}

function forget(config: ServerConfig | undefined, inProcess: Map<string, Serve>): void {
  if (config?.scope === 'sdk' && config.entry?.type === 'sdk') inProcess.delete(config.entry.name);
}

function replaced(servers: Config['servers'], name: string, server: ServerConfig | undefined): Config['servers'] {
  const others = [...servers].filter(([other]) => other !== name);
  return new Map(server ? [...others, [name, server]] : others);
}

const originOf = ({ scope, at }: ServerConfig) => (at ? `${at.file}:${at.line}` : `scope ${scope}`);

const taken = (name: string, owner: ServerConfig) =>
  new HeddleError('NAME_TAKEN', `There is a server named ${name} already (${originOf(owner)}).`);

function notRegistered(name: string, owner: ServerConfig | undefined): HeddleError {
  if (!owner) {
    return unknownServer(name, []);
  }
  return new HeddleError('NAME_UNKNOWN', `${name} was not registered at run time (${originOf(owner)}).`, {
    fix: owner.at ? 'Change it in its file.' : 'Change it in the program that passes it.',
  });
}
