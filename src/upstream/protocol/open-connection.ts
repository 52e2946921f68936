import { setImmediate as turn } from 'node:timers/promises';
import type { JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { withPlainNumbers } from '../../core/exact-numbers.ts';
import { VERSION } from '../../core/version.ts';
import { hasLegalParamHeaders } from '../../schema/param-headers.ts';
import { UNDECLARED_COMPLETION_VERSION } from '../../wire/mcp.ts';
import { Peer } from '../../wire/peer.ts';
import type { Transport } from '../../wire/transport.ts';
import { completeResult } from '../call-request.ts';
import {
  type Agreement,
  CAPABILITY_OF,
  type Connection,
  type ConnectOptions,
  type LostSession,
} from '../connection.ts';
import { openServerRequests, type ServerRequests } from '../elicitation/server-requests.ts';
import { suspendedCalls } from '../elicitation/suspended-calls.ts';
import { isSignInNeeded, toConnectFailure, toFailure } from '../failure.ts';
import { takesTaskCalls } from '../legacy-task.ts';
import { announceRoots } from './announce-roots.ts';
import { legacyCalls, type ProtocolCalls } from './call-legacy.ts';
import { modernCalls } from './call-modern.ts';
import { CONNECT_MS, orLateConnect } from './connect-timeout.ts';
import { type ConnectionLog, connectionLog } from './connection-log.ts';
import { type ChangeSource, followChanges } from './follow-changes.ts';
import { listAllPages } from './list-all-pages.ts';
import { type ListTtls, listTtls } from './list-ttl.ts';
import { capabilitiesOf, negotiate } from './negotiate.ts';

export interface OpenConnectionOptions extends ConnectOptions {
  readonly transport: Transport;
  readonly onLegacyVersion?: (version: string) => void;
  readonly stderrTail?: () => string;
  /** Tests whether the transport closed because the server no longer knew the session. */
  readonly hasLostSession?: () => boolean;
  /** Returns how the server process ended; undefined while it runs, and for transports without a process. */
  readonly ending?: () => string | undefined;
}

// A call waits for `logging/setLevel`, 2 s at most.
const LEVEL_MS = 2000;

/** Starts a transport, negotiates the protocol version and returns a connection. If that fails, closes the transport. */
export async function openConnection(options: OpenConnectionOptions): Promise<Connection> {
  const {
    server,
    transport,
    signal,
    known,
    capabilities,
    onLegacyVersion,
    serverRequests = ownServerRequests(),
  } = options;
  const { timeoutMs = CONNECT_MS } = options;
  let changes: ChangeSource | undefined;
  let agreed: Agreement | undefined;
  const log = connectionLog((level) => (takesLevels(agreed) ? setLevel(peer, level) : undefined));
  const peer: Peer = new Peer(transport, {
    server,
    answer: (method, params, incoming) => calls.answer(method, withPlainNumbers(params), incoming),
    onNotification(method, params, askedBy) {
      calls.onNotification(method, params);
      if (askedBy === undefined) log.onNotification(method, params);
      if (changes) changes.onNotification(method, params, askedBy);
      else options.onNotification(method, params);
    },
  });
  let serverCapabilities: JsonObject = {};
  let calls: ProtocolCalls = legacyCalls({
    peer,
    server,
    capabilities,
    serverRequests,
    takesTaskCalls: () => takesTaskCalls(serverCapabilities),
  });
  try {
    await peer.start();
    const hasRoots = serverRequests.roots().length > 0;
    // A client with roots of its own gets the requests, so it decides.
    const announcesRoots = capabilities.roots ? capabilities.rootsListChanged === true : hasRoots;
    const agreement = await negotiate(peer, {
      client: { name: 'heddle', version: VERSION },
      capabilities: capabilitiesOf(capabilities, hasRoots),
      announcesRoots,
      deadlineMs: timeoutMs,
      signal,
      known,
      protocol: options.protocol,
      onLegacyVersion,
    }).catch((thrown) => {
      throw orLateConnect(thrown, { server, task: 'answer the handshake', timeoutMs });
    });
    const rootsChanged = announcesRoots && agreement.era === 'legacy' ? announceRoots(peer, serverRequests) : undefined;
    serverCapabilities = agreement.capabilities;
    agreed = agreement;
    const ttls = listTtls({ agreement, onNotification: options.onNotification });
    const session = sessionUse(options.hasLostSession);
    const list = lister({ peer, agreement, ttls, session }, options);
    if (agreement.era === 'modern') {
      const listTools = (during: AbortSignal) => {
        options.onNotification('notifications/tools/list_changed', {}); // The catalog has the old list, too.
        return list('tools', during);
      };
      calls = modernCalls({ peer, server, capabilities, serverRequests, listTools });
    }
    changes = followChanges(peer, { server, agreement, onNotification: options.onNotification });
    return toConnection({ peer, agreement, calls, changes, ttls, session, list, log, rootsChanged }, options);
  } catch (thrown) {
    changes?.close();
    await peer.close();
    throw toConnectFailure(server, thrown, 'the handshake ');
  }
}

interface Parts {
  readonly peer: Peer;
  readonly agreement: Agreement;
  readonly calls: ProtocolCalls;
  readonly changes: ChangeSource;
  readonly ttls: ListTtls;
  readonly session: SessionUse;
  readonly list: Connection['list'];
  readonly log: ConnectionLog;
  readonly rootsChanged: (() => void) | undefined;
}

function toConnection(
  { peer, agreement, calls, changes, ttls, session, list, log, rootsChanged }: Parts,
  options: OpenConnectionOptions,
): Connection {
  const { server, urlTransport, ending, stderrTail = () => '' } = options;
  peer.closed.then(() => {
    calls.close();
    changes.close();
  });
  let waiting = 0; // Calls that wait for `logging/setLevel`.
  let hasSentCall = false;
  /** Rethrows the failure of a call. Waits until a connection with a lost session is closed: a retry then gets a new one. */
  async function fail(thrown: unknown): Promise<never> {
    if (HeddleError.is(thrown) && thrown.details.sessionGone === true) await peer.closed;
    if (isSignInNeeded(thrown)) options.onAuthNeeded?.(thrown);
    throw withEnding(server, thrown, ending?.());
  }

  async function sendAfterLevel(levelSet: Promise<void>, call: ResolvedCall): Promise<Result> {
    waiting++;
    await levelSet.finally(() => waiting--);
    return calls.send(call);
  }

  function send(call: ResolvedCall): Promise<Result> {
    hasSentCall = true;
    const levelSet = log.beforeCall(call);
    return (levelSet ? sendAfterLevel(levelSet, call) : calls.send(call)).then(session.use, fail);
  }

  return {
    server,
    agreement,
    ...(urlTransport && { urlTransport }),
    list,
    lostSession: session.lost,
    refreshExpiredLists: ttls.notifyExpired,
    closed: peer.closed,
    stderrTail,
    ...(ending && { ending }),
    // A server without completions gets no request: it has no suggestions.
    send: (call) => (call.kind === 'completion' && !mayComplete(agreement) ? noSuggestions(server) : send(call)),
    sendsUnrelatedRequests: calls.sendsUnrelatedRequests,
    hasSentCall: () => hasSentCall,
    inFlight: () => waiting + calls.inFlight(),
    subscribe: changes.subscribe,
    unsubscribe: changes.unsubscribe,
    notify: (method, params, signal) => peer.notify(method, params, signal),
    ...(rootsChanged && { rootsChanged }),
    dropped: () => ({ ...peer.dropped }),
    async probe(signal) {
      const method = agreement.era === 'modern' ? 'server/discover' : 'ping';
      try {
        await peer.request(method, {}, { deadlineMs: CONNECT_MS, signal });
      } catch (thrown) {
        throw toFailure(server, thrown);
      }
    },
    close: () => peer.close(),
    async drain() {
      changes.close(); // `subscriptions/listen` never ends by itself.
      while (waiting > 0) await log.settled();
      // A call may send another request in the turn after its response.
      do await peer.idle().then(turn);
      while (calls.inFlight() > 0);
      await peer.close();
    },
  };
}

interface SessionUse {
  /** Notes a response in the session, and returns it. */
  use<T>(response: T): T;
  readonly lost: Connection['lostSession'];
}

function sessionUse(hasLostSession = () => false): SessionUse {
  let use: LostSession = 'unused';
  return {
    use(response) {
      use = 'used';
      return response;
    },
    lost: () => (hasLostSession() ? use : undefined),
  };
}

/** Ignores a failed `logging/setLevel`, except a lost session, which is rethrown. */
async function setLevel(peer: Peer, level: string): Promise<void> {
  try {
    await peer.request('logging/setLevel', { level }, { deadlineMs: LEVEL_MS });
  } catch (thrown) {
    if (HeddleError.is(thrown) && thrown.details.sessionGone === true) throw thrown;
  }
}

/** Tests whether the server takes `logging/setLevel`. A modern server gets the level with each call. */
const takesLevels = (agreed: Agreement | undefined) =>
  agreed?.era === 'legacy' && agreed.capabilities.logging !== undefined;

// Servers of 2024-11-05 cannot declare completions.
const mayComplete = ({ capabilities, protocolVersion }: Agreement) =>
  capabilities.completions !== undefined || protocolVersion === UNDECLARED_COMPLETION_VERSION;

const noSuggestions = async (server: string): Promise<Result> =>
  completeResult(server, { completion: { values: [] } }, performance.now());

type Listing = Pick<Parts, 'peer' | 'agreement' | 'ttls' | 'session'>;

function lister(
  { peer, agreement, ttls, session }: Listing,
  { server, transport, timeoutMs }: OpenConnectionOptions,
): Connection['list'] {
  const { era, capabilities } = agreement;
  // Over HTTP, arguments are repeated as headers. A tool with an illegal `x-mcp-header` is not listed.
  const checksHeaders = era === 'modern' && transport.hasPerRequestStream === true;
  const isLegal = ({ inputSchema }: JsonObject) => hasLegalParamHeaders(inputSchema);
  return async function list(kind, signal) {
    if (!capabilities[CAPABILITY_OF[kind]]) return [];
    try {
      const onTtl = (ttlMs: unknown) => ttls.record(kind, ttlMs);
      const items = session.use(await listAllPages(peer, { server, kind, signal, timeoutMs, onTtl }));
      return kind === 'tools' && checksHeaders ? items.filter(isLegal) : items;
    } catch (thrown) {
      throw toFailure(server, thrown);
    }
  };
}

const NO_SAMPLING = { maxCalls: 0, windowMs: 1, maxTokens: 0 };
const ownServerRequests = (): ServerRequests =>
  openServerRequests({ suspendedCalls: suspendedCalls(), roots: () => [], sampling: () => NO_SAMPLING });

/** Adds to a lost connection how the server process ended, if that is known. Its stderr may have text of other callers. */
function withEnding(server: string, thrown: unknown, ending: string | undefined): unknown {
  if (ending === undefined || !(thrown instanceof UpstreamError) || thrown.code !== 'UPSTREAM_FAILED') return thrown;
  const { delivered, details } = thrown;
  const message = `${server} ended during the call: ${ending}.`;
  return new UpstreamError('UPSTREAM_FAILED', message, { delivered, details, cause: thrown });
}
