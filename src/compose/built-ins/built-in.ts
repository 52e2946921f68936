import { createHash } from 'node:crypto';
import type { Config, ServerConfig } from '../../config/config.ts';
import type { JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import type { PreviewCall } from '../../core/records/call-preview.ts';
import type { Finding } from '../../core/records/finding.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import type { Connect } from '../../upstream/connection.ts';
import { inProcessServer } from '../../upstream/lifecycle/programmatic-servers.ts';
import type { Environment } from '../heddle-options.ts';

/** A server that ships with Heddle. Its privileges belong to this object, not to its name. */
export interface BuiltIn {
  readonly name: string;
  /** Returns the server of a configuration; undefined if the configuration has none. */
  configOf(config: Config): ServerConfig | undefined;
  /** Opens a connection. All connections share what the object has opened. */
  readonly connect: Connect;
  /** Describes a call for its approver. It may open what a call opens. */
  readonly preview?: PreviewCall;
  /** Closes what the active configuration has changed or removed, after its calls. */
  update?(): void;
  /** Examines what it has opened or would open, for `heddle doctor`. */
  findings?(signal: AbortSignal): Promise<readonly Finding[]>;
  close(): Promise<void>;
}

/** The parts of a Heddle that built-in servers use. */
export interface BuiltInParts {
  /** Returns the active configuration. */
  readonly config: () => Config;
  /** Heddle's own folder. The file tools do not show it. */
  readonly home: string;
  /** The location of the store. The file tools do not show its files. */
  readonly storeLocation: string;
  readonly env: Environment;
  /** Ends the children of built-in servers with this process. */
  readonly watchdog: Watchdog;
  readonly userHome?: string;
}

interface BuiltInServer {
  readonly name: string;
  readonly description: string;
  /** Values that the tool definitions or the connections depend on. Another value restarts the server. */
  readonly revision: JsonObject;
}

/** Returns the configuration of a built-in server. */
export function builtInServer({ name, description, revision }: BuiltInServer): ServerConfig {
  // Hashed: the signature of a server is stored, and a revision may carry credentials.
  const digest = createHash('sha256').update(canonicalJson(revision)).digest('hex');
  const { entry, ...rest } = inProcessServer(name, `${name} ${digest}`, 'builtin');
  return { ...rest, ...(entry && { entry: { ...entry, description } }) };
}
