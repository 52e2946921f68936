import { join } from 'node:path';
import type { HeddleClient, HostOptions, JsonObject, OpenOptions } from '../../src/index.ts';

/** A scenario of the suite, as Heddle plays it. */
export interface Scenario {
  /** The handlers for input requests of the server. */
  readonly host?: HostOptions;
  /** Further fields of the server's entry. `folder` is the temporary folder of the scenario. */
  readonly entry?: (folder: string) => JsonObject;
  /** Further settings. */
  readonly config?: () => NonNullable<OpenOptions['config']>;
  /** Prepares the store before Heddle opens. */
  readonly prepare?: (folder: string) => Promise<void>;
  /** False: the server is not connected before `play`, because it needs a sign-in. */
  readonly connects?: boolean;
  readonly play: (heddle: HeddleClient) => Promise<unknown>;
}

/** The name of the suite's server. */
export const SERVER = 'suite';

export const call = (heddle: HeddleClient, tool: string, input?: JsonObject) => heddle.call(`${SERVER}.${tool}`, input);

/** Returns the facts that the suite gives to the client of a scenario. */
export const context = () => JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

/** Returns the store of a scenario, in its temporary folder. */
export const storeIn = (folder: string) => join(folder, 'store.db');
