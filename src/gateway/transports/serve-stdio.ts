import type { Readable, Writable } from 'node:stream';
import type { Caller } from '../../core/call.ts';
import type { Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import { openContinuations } from '../continuations/continuations.ts';
import { mcpHandler } from '../mcp-handler.ts';
import { serveClient } from './serve-client.ts';
import { StdioServerTransport } from './stdio-transport.ts';

export interface ServeStdioOptions {
  readonly heddle: Heddle;
  readonly caller: Caller;
  readonly input: Readable;
  readonly output: Writable;
  /** The secrets that seal task ids and `requestState`; random for this process if absent. */
  readonly stateSecrets?: readonly Buffer[];
  /** Receives the sentence that says why a client that does not read is disconnected. */
  readonly report?: (message: string) => void;
  readonly timer?: Timer;
}

/** Serves one MCP client of either era over two streams. Resolves when it has disconnected or the signal aborts. */
export async function serveStdio(options: ServeStdioOptions, signal: AbortSignal): Promise<void> {
  const { heddle, caller, input, output, stateSecrets: secrets, report, timer } = options;
  const continuations = openContinuations(heddle, { secrets });
  const limits = heddle.access.settings().gateway.unsent;
  const handler = mcpHandler(heddle, continuations);
  const transport = new StdioServerTransport(input, output, { limits, report, timer });
  // A call that waits for an approver gets its error while the client may still read it.
  const answerWaiting = () => continuations.waits.close();
  signal.addEventListener('abort', answerWaiting, { once: true });
  void transport.ended.then(answerWaiting);
  try {
    await serveClient({ heddle, handler, caller, transport }, signal);
  } finally {
    signal.removeEventListener('abort', answerWaiting);
    continuations.close();
  }
}
