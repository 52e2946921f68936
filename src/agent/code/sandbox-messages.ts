import type { CodeRequest } from '../../core/code.ts';

/** The code for the thread of a sandbox. `input` is JSON text. */
export interface SandboxJob extends Omit<CodeRequest, 'input'> {
  readonly input: string;
}

/** The end of a call. `reply` is JSON text: `{value}` or `{error: {code, message}}`. */
export interface CallSettled {
  readonly index: number;
  readonly reply: string;
}

/** A message of the thread. `settled` is the number of ended calls that the code has seen. */
export type SandboxMessage =
  | { readonly kind: 'call'; readonly index: number; readonly tool: string; readonly input: string }
  | { readonly kind: 'idle'; readonly settled: number }
  | { readonly kind: 'done'; readonly value: string }
  | SandboxFailure;

export type SandboxFailure =
  | { readonly kind: 'failed'; readonly message: string; readonly line?: number }
  | { readonly kind: 'exceeded'; readonly limit: 'time' | 'memory' | 'stack' | 'calls' | 'result' | 'input' };

/** The largest result, and the largest input of a call, in characters. */
export const MAX_JSON_CHARS = 1024 * 1024;
/** The characters of the inputs of all calls together. */
export const MAX_INPUT_CHARS = 16 * 1024 * 1024;
