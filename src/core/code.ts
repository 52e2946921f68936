import type { Json, JsonObject } from './call.ts';

/** Code that runs in a sandbox: the body of an async function with `input` and `tools`. */
export interface CodeRequest {
  readonly source: string;
  readonly input: Json;
  /** The names of the tools that it may call: `server.tool` becomes `tools.server.tool(arguments)`. */
  readonly tools: readonly string[];
  readonly limits: { readonly wallMs: number; readonly memoryBytes: number; readonly calls: number };
  /** Seeds `Math.random`, and fixes `Date.now`, so that the code can be executed again with equal results. */
  readonly seed: number;
  readonly now: number;
}

export interface CodeHost {
  /**
   * Calls a tool. `index` counts the calls of this code from 0, in the order in which it makes them. An error with a
   * `code` is thrown inside of the code. Any other error ends the code and is rethrown.
   */
  call(index: number, tool: string, input: JsonObject): Promise<Json>;
  /** Reports whether the code waits for calls only. */
  onIdle(isIdle: boolean): void;
  readonly signal: AbortSignal;
}

/** Runs code and returns its result. Throws CODE_FAILED or CODE_LIMIT_EXCEEDED. */
export type RunCode = (request: CodeRequest, host: CodeHost) => Promise<Json>;
