// A Heddle process that calls `whoami` of a protected server as often as its parent requests.
// Usage: `node calling-process.ts URL [STORE]`, with an IPC channel.
import { createHook } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { HeddleError } from '../../src/core/errors.ts';
import { openHeddle } from '../../src/open-heddle.ts';
import type { CallsOutcome, CallsRequest } from './call-in-processes.ts';

const [url = '', store] = process.argv.slice(2);
let offsetMs = 0;
const heddle = await openHeddle({
  config: { mode: 'open', mcpServers: { demo: { type: 'http', url } } },
  clock: () => Date.now() + offsetMs,
  ...(store !== undefined && { store }),
});
const caller = { id: 'local:tester', roles: ['owner' as const], via: 'cli' as const };

async function call(): Promise<string> {
  try {
    const result = await heddle.dispatch({
      ...{ id: randomUUID(), kind: 'tool', name: 'demo.whoami', input: {}, meta: {}, caller, options: {} },
      signal: AbortSignal.timeout(120_000),
    });
    return JSON.stringify(result);
  } catch (error) {
    return HeddleError.from(error).code;
  }
}

/** Counts asynchronous operations. The process kills itself at the given one. */
function countOperations(killAt: number | undefined): () => number {
  let count = 0;
  const hook = createHook({
    init() {
      if (++count === killAt) process.kill(process.pid, 'SIGKILL');
    },
  }).enable();
  return () => {
    hook.disable();
    return count;
  };
}

process.on('message', async (request: CallsRequest) => {
  if (request.close) return void heddle.close().then(() => process.disconnect());
  offsetMs = request.offsetMs ?? 0;
  const stop = countOperations(request.killAt);
  const results = await Promise.all(Array.from({ length: request.calls ?? 1 }, call));
  const operations = stop();
  process.send?.({ results, operations } satisfies CallsOutcome);
});
process.send?.('ready');
