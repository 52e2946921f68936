import type { Json, JsonObject } from '../../../core/call.ts';

/** Runs the code of a step in a sandbox. Throws CODE_FAILED or CODE_LIMIT_EXCEEDED. */
export type SandboxRun = (
  request: {
    readonly source: string;
    readonly input: Json;
    readonly tools: readonly string[];
    readonly limits: { readonly wallMs: number; readonly memoryBytes: number; readonly calls: number };
    readonly seed: number;
    readonly now: number;
  },
  host: {
    call(index: number, tool: string, input: JsonObject): Promise<Json>;
    onIdle(isIdle: boolean): void;
    readonly signal: AbortSignal;
  },
) => Promise<Json>;
