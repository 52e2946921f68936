import type { Readable, Writable } from 'node:stream';
import type { Caller } from '../../core/call.ts';
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
}

/** Serves one MCP client of either era over two streams. Resolves when it has disconnected or the signal aborts. */
export async function serveStdio(options: ServeStdioOptions, signal: AbortSignal): Promise<void> {
  const { heddle, caller, input, output } = options;
  const continuations = openContinuations(heddle);
  const handler = mcpHandler(heddle, continuations);
  try {
    await serveClient({ heddle, handler, caller, transport: new StdioServerTransport(input, output) }, signal);
  } finally {
    continuations.gatewayTasks.close();
  }
}
