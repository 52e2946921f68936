import type { Readable, Writable } from 'node:stream';
import type { Caller, ClientCapabilities, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Change } from '../../core/records/server-status.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { BATCH_VERSION, META } from '../../wire/mcp.ts';
import { Peer } from '../../wire/peer.ts';
import { type Continuations, openContinuations } from '../continuations/continuations.ts';
import { STATE_TTL_MS } from '../continuations/request-state.ts';
import { checkEnvelope } from '../http/check-headers.ts';
import { DRAIN_MS, trackInFlight } from '../in-flight.ts';
import { mcpHandler } from '../mcp-handler.ts';
import { capabilitiesInMeta, isChangeVisibleTo, parseClientCapabilities } from '../methods/client-capabilities.ts';
import type { LogSettings, RequestContext, SendClientRequest } from '../request-context.ts';
import { resourceSubscriptions } from '../resource-subscriptions.ts';
import { answerBatches } from './answer-batches.ts';
import type { ClientTransport } from './client-transport.ts';
import { StdioServerTransport } from './stdio-transport.ts';

const STILL_THERE_MS = 500;

export interface ServeStdioOptions {
  readonly heddle: Heddle;
  readonly caller: Caller;
  readonly input: Readable;
  readonly output: Writable;
}

export interface ServeClientOptions extends Pick<ServeStdioOptions, 'heddle' | 'caller'> {
  readonly transport: ClientTransport;
  /** Where clients of several lines may go on with each other's calls. */
  readonly continuations?: Continuations;
}

/** Serves one MCP client over a pair of streams, in either era. Settles when the client hangs up or the signal aborts. */
export const serveStdio = ({ heddle, caller, input, output }: ServeStdioOptions, signal: AbortSignal): Promise<void> =>
  serveClient({ heddle, caller, transport: new StdioServerTransport(input, output) }, signal);

/**
 * Serves one client that has a line of its own. When it says no more, or the signal aborts, what is under way is
 * still answered; when it is gone, that is cancelled.
 */
export async function serveClient(
  { heddle, caller, transport, continuations }: ServeClientOptions,
  signal: AbortSignal,
): Promise<void> {
  const own = continuations ? undefined : openContinuations(heddle);
  const { answer, finish } = trackInFlight(mcpHandler(heddle, continuations ?? own));
  let greeted = false;
  let able: ClientCapabilities | undefined;
  const logging: LogSettings = { level: undefined };
  const ask: SendClientRequest = ({ method, params = {} }, signal) =>
    peer.request(method, params, { deadlineMs: STATE_TTL_MS, signal });
  const tell = (method: string, params: JsonObject) => void peer.notify(method, params).catch(() => {}); // It has left.
  const peer = new Peer(answerBatches(transport), {
    server: 'the client',
    async answer(method, params, { id, signal }) {
      const era = eraOf(params);
      const refusal = era === 'modern' ? checkEnvelope(params) : undefined;
      if (refusal) throw new RpcError(refusal.code, refusal.message, refusal.data);
      if (method === 'initialize') able = parseClientCapabilities(params.capabilities);
      const notify = (name: string, said: JsonObject) => {
        tell(name, said);
        return true;
      };
      const user =
        era === 'modern'
          ? { capabilities: capabilitiesInMeta(params) }
          : { capabilities: able, sendRequest: ask, logging, notifyLater: tell };
      const result = await answer(method, params, {
        id,
        era,
        caller,
        signal,
        notify,
        subscriptions: following,
        ...user,
      });
      if (method === 'initialize') {
        transport.acceptsBatches = result.protocolVersion === BATCH_VERSION;
        setImmediate(() => (greeted = true)); // When it has the answer: nothing may come before that.
      }
      return result;
    },
  });
  const following = resourceSubscriptions(tell);
  await peer.start();
  void leave({ line: transport, peer, finish, isGreeted: () => greeted }, signal);
  // A modern client subscribes to changes; only one that shook hands is told unasked.
  const told = tellOfChanges(heddle, caller, peer, (change) => {
    return greeted && isChangeVisibleTo(change, { callerId: caller.id, capabilities: able, era: 'legacy' });
  });
  await peer.closed;
  following.close();
  own?.gatewayTasks.close();
  await told;
}

interface Leaving {
  readonly line: ClientTransport;
  readonly peer: Peer;
  readonly finish: (signal: AbortSignal) => Promise<void>;
  readonly isGreeted: () => boolean;
}

/** Waits until the client says no more or we have to go, and goes when what is under way is answered. */
async function leave({ line, peer, finish, isGreeted }: Leaving, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  if (signal.aborted) over.resolve();
  signal.addEventListener('abort', over.resolve as () => void, { once: true });
  await Promise.race([line.ended, over.promise, peer.closed]);
  signal.removeEventListener('abort', over.resolve as () => void);
  // Told to go by one who has said no more already: it is not going to wait.
  const hurry = AbortSignal.any([AbortSignal.timeout(DRAIN_MS), ...(signal.aborted ? [] : [signal])]);
  // One that only said its last is told from one that is gone by whether it can still be spoken to.
  const ask = () => void peer.request('ping', {}, { deadlineMs: DRAIN_MS }).catch(() => {});
  const asking = setInterval(() => isGreeted() && ask(), STILL_THERE_MS).unref();
  await Promise.race([finish(hurry), peer.closed]);
  clearInterval(asking);
  await peer.close();
}

function eraOf({ _meta }: JsonObject): RequestContext['era'] {
  return isObject(_meta) && META.protocolVersion in _meta ? 'modern' : 'legacy';
}

async function tellOfChanges(
  heddle: Heddle,
  caller: Caller,
  peer: Peer,
  listens: (change: Change) => boolean,
): Promise<void> {
  const ended = new AbortController();
  peer.closed.then(() => ended.abort());
  for await (const change of heddle.changes(caller, ended.signal)) {
    const { kind, subject } = change;
    if (kind === 'catalog' && listens(change))
      await peer.notify(`notifications/${subject}/list_changed`).catch(() => {});
  }
}
