import type { Caller, ClientCapabilities, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { CatalogChange } from '../../core/records/server-status.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { BATCH_VERSION, type Era, META } from '../../wire/mcp.ts';
import { Peer } from '../../wire/peer.ts';
import { STATE_TTL_MS } from '../continuations/request-state.ts';
import { checkEnvelope } from '../http/check-headers.ts';
import { DRAIN_MS, trackInFlight } from '../in-flight.ts';
import {
  capabilitiesInMeta,
  isChangeVisibleTo,
  narrowExtensions,
  parseClientCapabilities,
} from '../methods/client-capabilities.ts';
import { passRootsChange, ROOTS_CHANGED } from '../methods/roots-changed.ts';
import { type LogSettings, newSessionKey, type RequestHandler, type SendClientRequest } from '../request-context.ts';
import { resourceSubscriptions } from '../resource-subscriptions.ts';
import { answerBatches } from './answer-batches.ts';
import type { ClientTransport } from './client-transport.ts';

/** Interval of the pings by which a client that has ended its input is seen to be gone. */
const PING_MS = 500;

export interface ServeClientOptions {
  readonly heddle: Heddle;
  /** Shared by all clients of a gateway. */
  readonly handler: RequestHandler;
  readonly caller: Caller;
  readonly transport: ClientTransport;
}

/**
 * Serves one client on a transport of its own. When the client ends its input or the signal aborts, requests in flight
 * are still answered. When the client has disconnected, they are cancelled.
 */
export async function serveClient(options: ServeClientOptions, signal: AbortSignal): Promise<void> {
  const { heddle, handler, caller, transport } = options;
  const { handleRequest, finish } = trackInFlight(handler);
  let isInitialized = false;
  let capabilities: ClientCapabilities | undefined;
  const logging: LogSettings = { level: undefined };
  const inSession = newSessionKey();
  const sendRequest: SendClientRequest = ({ method, params = {} }, signal) =>
    peer.request(method, params, { deadlineMs: STATE_TTL_MS, signal });
  // A failed notification means that the client has disconnected.
  const notifyLater = (method: string, params: JsonObject) => void peer.notify(method, params).catch(() => {});
  const notify = (method: string, params: JsonObject) => {
    notifyLater(method, params);
    return true;
  };
  const subscriptions = resourceSubscriptions(notifyLater);
  const peer = new Peer(answerBatches(transport), {
    server: 'the client',
    async answer(method, params, { id, signal }) {
      const era = eraOf(params);
      const refusal = era === 'modern' ? checkEnvelope(params) : undefined;
      if (refusal) throw new RpcError(refusal.code, refusal.message, refusal.data);
      if (method === 'initialize') capabilities = parseClientCapabilities(params.capabilities);
      const session =
        era === 'modern'
          ? { capabilities: capabilitiesInMeta(params) }
          : { capabilities, sendRequest, logging, notifyLater };
      const context = { id, era, caller, inSession, signal, notify, subscriptions, ...session };
      const result = await handleRequest(method, params, context);
      if (method === 'initialize') {
        transport.acceptsBatches = result.protocolVersion === BATCH_VERSION;
        setImmediate(() => (isInitialized = true)); // Notifications may follow only after the initialize response.
      }
      return result;
    },
    onNotification(method) {
      if (method === ROOTS_CHANGED) passRootsChange(heddle, { caller, capabilities, inSession });
    },
  });
  await peer.start();
  void closeWhenDone({ transport, peer, finish, isInitialized: () => isInitialized }, signal);
  // A modern client subscribes by `subscriptions/listen`. A legacy client gets list changes after its handshake.
  const announcing = announceListChanges(heddle, { caller, peer }, (change) => {
    const narrowed = narrowExtensions(capabilities, heddle.catalog);
    return isInitialized && isChangeVisibleTo(change, { callerId: caller.id, capabilities: narrowed, era: 'legacy' });
  });
  await peer.closed;
  subscriptions.close();
  await announcing;
}

interface ClosingClient {
  readonly transport: ClientTransport;
  readonly peer: Peer;
  readonly finish: (signal: AbortSignal) => Promise<void>;
  readonly isInitialized: () => boolean;
}

/** Waits for the end of the client's input or for the signal, then closes once requests in flight are answered. */
async function closeWhenDone(client: ClosingClient, signal: AbortSignal): Promise<void> {
  const { transport, peer, finish, isInitialized } = client;
  const aborted = Promise.withResolvers<void>();
  let hasEnded = false;
  void transport.ended.then(() => (hasEnded = true));
  if (signal.aborted) aborted.resolve();
  signal.addEventListener('abort', aborted.resolve as () => void, { once: true });
  await Promise.race([transport.ended, aborted.promise, peer.closed]);
  signal.removeEventListener('abort', aborted.resolve as () => void);
  // After the end of the input an abort of the signal ends the wait at once, also in the same turn.
  const isDraining = signal.aborted && !hasEnded;
  const deadline = AbortSignal.any([AbortSignal.timeout(DRAIN_MS), ...(isDraining ? [] : [signal])]);
  // A client that has only ended its input still reads. Writing to a client that is gone fails, and closes the peer.
  const ping = () => void peer.request('ping', {}, { deadlineMs: DRAIN_MS }).catch(() => {});
  const pings = setInterval(() => isInitialized() && ping(), PING_MS).unref();
  await Promise.race([finish(deadline), peer.closed]);
  clearInterval(pings);
  await peer.close();
}

function eraOf({ _meta }: JsonObject): Era {
  return isObject(_meta) && META.protocolVersion in _meta ? 'modern' : 'legacy';
}

async function announceListChanges(
  heddle: Heddle,
  { caller, peer }: { readonly caller: Caller; readonly peer: Peer },
  isVisible: (change: CatalogChange) => boolean,
): Promise<void> {
  const ended = new AbortController();
  peer.closed.then(() => ended.abort());
  for await (const change of heddle.changes(caller, ended.signal)) {
    if (change.kind === 'catalog' && isVisible(change))
      await peer.notify(`notifications/${change.subject}/list_changed`).catch(() => {});
  }
}
