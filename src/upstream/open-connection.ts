import type { JsonObject, ResolvedCall, Result } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';
import type { Line } from '../wire/json-rpc.ts';
import { Peer } from '../wire/peer.ts';
import type { Connection, ConnectOptions } from './connection.ts';
import { discoverTools } from './discover-tools.ts';
import { toFailure } from './failure.ts';
import { negotiate } from './negotiate.ts';

export interface OpenOptions extends ConnectOptions {
  readonly line: Line;
  readonly onLegacyVersion?: (version: string) => void;
  readonly lastWords?: () => string;
}

const HANDSHAKE_MS = 15_000;
const CALL_MS = 30_000;
const LONGEST_CALL_MS = 600_000;

/** Starts a line, shakes hands and gives back a connection. When that fails nothing is left open. */
export async function openConnection(options: OpenOptions): Promise<Connection> {
  const { server, line, signal, known, onLegacyVersion, onToolsChanged, lastWords = () => '' } = options;
  const peer = new Peer(line, {
    server,
    hear: (method) => {
      if (method === 'notifications/tools/list_changed') onToolsChanged();
    },
  });
  try {
    await peer.start();
    const client = { name: 'heddle', version: VERSION };
    const agreement = await negotiate(peer, { client, deadlineMs: HANDSHAKE_MS, signal, known, onLegacyVersion });
    const { capabilities } = agreement;
    return {
      server,
      agreement,
      closed: peer.closed,
      lastWords,
      close: () => peer.close(),
      finish: () => peer.idle().then(() => peer.close()),
      send: (call) => send(peer, server, call),
      listTools: async (signal) => (capabilities.tools ? listTools(peer, server, signal) : []),
    };
  } catch (thrown) {
    await peer.close();
    throw toFailure(server, thrown);
  }
}

async function listTools(peer: Peer, server: string, signal: AbortSignal): Promise<readonly JsonObject[]> {
  try {
    return await discoverTools(peer, server, signal);
  } catch (thrown) {
    throw toFailure(server, thrown);
  }
}

async function send(peer: Peer, server: string, call: ResolvedCall): Promise<Result> {
  const startedAt = performance.now();
  const params: JsonObject = { name: call.target.name, arguments: call.input };
  try {
    const value = await peer.request('tools/call', hasKeys(call.meta) ? { ...params, _meta: call.meta } : params, {
      deadlineMs: call.options.timeoutMs ?? CALL_MS,
      longestMs: LONGEST_CALL_MS,
      signal: call.signal,
      onProgress: call.report,
    });
    if (value.resultType === 'input_required') throw askedUninvited(server);
    const latencyMs = performance.now() - startedAt;
    return { kind: 'complete', value, isError: value.isError === true, from: { server, attempts: 1, latencyMs } };
  } catch (thrown) {
    throw toFailure(server, thrown);
  }
}

// We declare no ability to be asked, so the protocol forbids it to ask.
const askedUninvited = (server: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} asked the user a question, which it was not invited to do.`, {
    delivered: 'maybe',
  });

function hasKeys(object: JsonObject): boolean {
  for (const _ in object) return true;
  return false;
}
