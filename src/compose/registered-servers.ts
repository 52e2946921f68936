import type { Config, ServerConfig } from '../config/config.ts';
import type { JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { type InProcessServer, inProcessOf, toServerConfigs } from '../upstream/lifecycle/programmatic-servers.ts';
import type { Serve } from '../upstream/transports/connect-in-memory.ts';
import type { ActiveConfig } from './active-config.ts';

export interface RegisteredServersOptions {
  /** Reads the configuration with these servers beside the written ones. */
  readonly read: (registered: readonly ServerConfig[]) => Promise<Config>;
  readonly active: () => ActiveConfig;
  /** Puts another configuration in force. */
  readonly adopt: (config: Config) => void;
  readonly inProcess: Map<string, Serve>;
  /** Aborts when Heddle closes: nothing comes into force after it. */
  readonly closing: AbortSignal;
}

/** The servers that came while Heddle runs. They outlive every reading of the files, and win over them by name. */
export interface RegisteredServers {
  /** What the files say now, and these servers. */
  read(): Promise<Config>;
  /** Throws NAME_TAKEN, CONFIG_INVALID, or SERVER_BLOCKED where an organisation forbids it. */
  register(name: string, server: JsonObject | InProcessServer): Promise<void>;
  /** Calls under way end on the line they began with. Throws NAME_UNKNOWN for a server that was not registered. */
  update(name: string, server: JsonObject | InProcessServer): Promise<void>;
  unregister(name: string): Promise<void>;
}

type Registered = ReadonlyMap<string, ServerConfig>;

export function registeredServers(options: RegisteredServersOptions): RegisteredServers {
  const { active, adopt, inProcess, closing } = options;
  let registered: Registered = new Map();
  let last: Promise<unknown> = Promise.resolve();

  async function read(): Promise<Config> {
    for (;;) {
      const asked = registered;
      const config = await options.read([...asked.values()]);
      if (asked === registered) return config; // Else it knows nothing of a server that came meanwhile.
    }
  }

  // One after the other: each finds the names as the one before has left them.
  function inTurn(act: () => Promise<void>): Promise<void> {
    const done = last.then(act);
    last = done.catch(() => {});
    return done;
  }

  /** Puts in force what there is of one name now; everything else stays as it is, changed files included. */
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

  async function put(name: string, server: JsonObject | InProcessServer): Promise<void> {
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
        const holder = active().configs.get(name);
        if (holder) throw taken(name, holder);
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

/** An in-process server gets a key that nobody has: else the line would lead to the one that had it. */
async function toConfig(
  name: string,
  server: JsonObject | InProcessServer,
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

const whence = ({ scope, at }: ServerConfig) => (at ? `${at.file}:${at.line}` : `scope ${scope}`);

const taken = (name: string, holder: ServerConfig) =>
  new HeddleError('NAME_TAKEN', `There is a server named ${name} already (${whence(holder)}).`);

function notRegistered(name: string, holder: ServerConfig | undefined): HeddleError {
  if (!holder) {
    return new HeddleError('NAME_UNKNOWN', `No server is named ${name}.`, {
      fix: 'Run `heddle list servers` to see their names.',
    });
  }
  return new HeddleError('NAME_UNKNOWN', `${name} was not registered while running (${whence(holder)}).`, {
    fix: holder.at ? 'Change it in its file.' : 'Change it where it is given.',
  });
}
