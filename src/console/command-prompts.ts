import { randomUUID } from 'node:crypto';
import { abortable } from '../core/async/abortable.ts';
import type { JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { CommandMessage, CommandPrompt } from './command-wire.ts';

/** The response of a command that stays open. */
export interface OpenResponse {
  readonly write: (line: CommandMessage) => void;
  /** Aborts when the command closes the connection. */
  readonly signal: AbortSignal;
}

/** Prompts that the gateway sends in the lines of an open response. The command responds with requests of their own. */
export interface CommandPrompts {
  /** Sends a prompt and waits for its response. An abort of either signal ends the wait. */
  send(prompt: Omit<CommandPrompt, 'key'>, to: OpenResponse, signal: AbortSignal): Promise<JsonObject>;
  /** Takes a response. Throws NAME_UNKNOWN for a prompt that does not wait any more. */
  respond(key: string, response: JsonObject): void;
}

export function commandPrompts(): CommandPrompts {
  const waiting = new Map<string, (response: JsonObject) => void>();
  return {
    async send(prompt, { write, signal: closed }, signal) {
      const key = randomUUID();
      const { promise, resolve } = Promise.withResolvers<JsonObject>();
      waiting.set(key, resolve);
      write({ prompt: { key, ...prompt } });
      try {
        return await abortable(promise, AbortSignal.any([closed, signal]));
      } finally {
        waiting.delete(key);
      }
    },
    respond(key, response) {
      const resolve = waiting.get(key);
      if (!resolve) throw new HeddleError('NAME_UNKNOWN', 'The prompt does not wait for a response any more.');
      resolve(response);
    },
  };
}
