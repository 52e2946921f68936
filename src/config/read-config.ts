import type { JsonObject } from '../core/call.ts';
import { homeFolder, userHomeOf } from '../files/home-folder.ts';
import type { Config, LoadedPolicy, ServerConfig } from './config.ts';
import type { ConfigSource } from './config-source.ts';
import { loadConfig } from './load.ts';

export interface ReadConfigOptions {
  /** The only file to read, instead of those of the project and the user. */
  readonly configFile?: string;
  /** A configuration instead of all files but an organisation's; `false` for none. */
  readonly config?: JsonObject | false;
  /** The sources to read, highest precedence first: by default the environment, then all files. */
  readonly sources?: readonly ConfigSource[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Skips the trust book: everything that came with the project's folder counts as agreed to. */
  readonly trustProject?: boolean;
  /** Servers from a program, its API or a command line. They win over those of files. */
  readonly programmatic?: readonly ServerConfig[];
  /** Aborts fetches from connectors, those in the background too. */
  readonly signal?: AbortSignal;
  /** By file: the rules of its last valid version. They stay in force while the file is invalid. */
  readonly lastPolicies?: Map<string, readonly LoadedPolicy[]>;
}

/** Reads the configuration of a process: its files, its environment, its secrets and the trust book of its user. */
export function readConfig(options: ReadConfigOptions = {}): Promise<Config> {
  const {
    configFile,
    config,
    sources,
    cwd = process.cwd(),
    env = process.env,
    trustProject,
    programmatic = [],
    signal,
    lastPolicies,
  } = options;
  const home = homeFolder(env);
  return loadConfig({
    cwd,
    home,
    env,
    userHome: userHomeOf(env),
    programmatic,
    secrets: async (names) => (await import('../store/secrets/open-secrets.ts')).readSecretsFor(names, { home, env }),
    ...(!trustProject && { trust: async () => (await import('./sources/trust-book.ts')).openTrustBook(home) }),
    ...(configFile !== undefined && { file: configFile }),
    ...(config !== undefined && { config }),
    ...(sources && { chosen: sources }),
    ...(signal && { signal }),
    ...(lastPolicies && { lastPolicies }),
  });
}
