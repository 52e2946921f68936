import type { JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { VERSION } from '../../core/version.ts';
import { MODERN_VERSION, TASKS_EXTENSION } from '../../wire/mcp.ts';
import type { Agreement, Connect, Connection } from '../connection.ts';

/** A server made of tool definitions and a function. Calls reach it whole, with their caller. */
export interface FunctionServer {
  /** Returns the definitions of its tools as they are now. */
  tools(signal: AbortSignal): Promise<readonly JsonObject[]>;
  /** Runs a call. The signal of the call also aborts when the connection closes. */
  call(call: ResolvedCall): Promise<Result>;
  /** Calls `onChange` whenever the tools have changed, until the returned function is called. */
  watch(onChange: () => void): () => void;
}

const LIST_CHANGED = 'notifications/tools/list_changed';

/** Connects to a function in this process. No message is encoded, and no transport is opened. */
export function connectFunction(open: () => Promise<FunctionServer>): Connect {
  return async function connectFunction({ server, onNotification }) {
    const opened = await open();
    const end = opened.watch(() => onNotification(LIST_CHANGED, {}));
    return toConnection(server, opened, end);
  };
}

const agreementOf = (server: string): Agreement => ({
  era: 'modern',
  newest: 'modern',
  protocolVersion: MODERN_VERSION,
  capabilities: { tools: { listChanged: true }, extensions: { [TASKS_EXTENSION]: {} } },
  serverInfo: { name: server, version: VERSION },
  instructions: undefined,
});

function toConnection(server: string, { tools, call: run }: FunctionServer, endWatch: () => void): Connection {
  const closing = new AbortController();
  const closed = Promise.withResolvers<void>();
  const running = new Set<Promise<unknown>>();
  let hasSentCall = false;

  async function close(): Promise<void> {
    endWatch();
    closing.abort();
    closed.resolve();
  }

  return {
    server,
    agreement: agreementOf(server),
    closed: closed.promise,
    send(call) {
      hasSentCall = true;
      const signal = AbortSignal.any([call.signal, closing.signal]);
      const result = run({ ...call, signal });
      const ended = result.then(noop, noop).finally(() => running.delete(ended));
      running.add(ended);
      return result;
    },
    list: async (kind, signal) => (kind === 'tools' ? tools(signal) : []),
    probe: async () => {},
    subscribe: async () => Promise.reject(noResources(server)),
    unsubscribe: async () => {},
    notify: async () => {},
    refreshExpiredLists: noop,
    sendsUnrelatedRequests: () => false,
    hasSentCall: () => hasSentCall,
    inFlight: () => running.size,
    dropped: () => ({ malformed: 0, unknown: 0, stale: 0 }),
    lostSession: () => undefined,
    stderrTail: () => '',
    close,
    async drain() {
      while (running.size > 0) await Promise.all(running);
      await close();
    },
  };
}

const noop = () => {};

const noResources = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `${server} has no resources.`, { delivered: 'no' });
