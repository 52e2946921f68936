import type { Readable, Writable } from 'node:stream';
import type { Abilities, Caller, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Change } from '../core/server-status.ts';
import type { Heddle } from '../heddle.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { Peer } from '../wire/peer.ts';
import { concerns } from './able-caller.ts';
import { answerBatches } from './answer-batches.ts';
import { type Asked, type Logging, META_KEY } from './asked.ts';
import { BATCH_VERSION } from './batch.ts';
import { checkEnvelope } from './check-modern.ts';
import { abilitiesIn, abilitiesOf } from './client-abilities.ts';
import type { ClientLine } from './client-line.ts';
import type { AskClient } from './client-questions.ts';
import { followed } from './followed.ts';
import { type Handouts, handouts } from './handouts.ts';
import { mcpHandler } from './mcp-handler.ts';
import { STATE_TTL_MS } from './request-state.ts';
import { StreamLine } from './stream-line.ts';
import { FINISH_MS, underWay } from './under-way.ts';

const STILL_THERE_MS = 500;

export interface StdioFace {
  readonly heddle: Heddle;
  readonly caller: Caller;
  readonly input: Readable;
  readonly output: Writable;
}

export interface LineFace extends Pick<StdioFace, 'heddle' | 'caller'> {
  readonly line: ClientLine;
  /** Where clients of several lines may go on with each other's calls. */
  readonly given?: Handouts;
}

/** Serves one MCP client over a pair of streams, in either era. Settles when the client hangs up or the signal aborts. */
export const serveStdio = ({ heddle, caller, input, output }: StdioFace, signal: AbortSignal): Promise<void> =>
  serveLine({ heddle, caller, line: new StreamLine(input, output) }, signal);

/**
 * Serves one client that has a line of its own. When it says no more, or the signal aborts, what is under way is
 * still answered; when it is gone, that is cancelled.
 */
export async function serveLine({ heddle, caller, line, given }: LineFace, signal: AbortSignal): Promise<void> {
  const own = given ? undefined : handouts(heddle);
  const { answer, finish } = underWay(mcpHandler(heddle, given ?? own));
  let greeted = false;
  let able: Abilities | undefined;
  const logging: Logging = { level: undefined };
  const ask: AskClient = ({ method, params = {} }, signal) =>
    peer.request(method, params, { deadlineMs: STATE_TTL_MS, signal });
  const tell = (method: string, params: JsonObject) => void peer.notify(method, params).catch(() => {}); // It has left.
  const peer = new Peer(answerBatches(line), {
    server: 'the client',
    async answer(method, params, { id, signal }) {
      const era = eraOf(params);
      const refusal = era === 'modern' ? checkEnvelope(params) : undefined;
      if (refusal) throw new RpcError(refusal.code, refusal.message, refusal.data);
      if (method === 'initialize') able = abilitiesOf(params.capabilities);
      const notify = (name: string, said: JsonObject) => {
        tell(name, said);
        return true;
      };
      const user = era === 'modern' ? { can: abilitiesIn(params) } : { can: able, ask, logging, tellLater: tell };
      const result = await answer(method, params, { id, era, caller, signal, notify, followed: following, ...user });
      if (method === 'initialize') {
        line.takesBatches = result.protocolVersion === BATCH_VERSION;
        setImmediate(() => (greeted = true)); // When it has the answer: nothing may come before that.
      }
      return result;
    },
  });
  const following = followed(tell);
  await peer.start();
  void leave({ line, peer, finish, isGreeted: () => greeted }, signal);
  // A modern client subscribes to changes; only one that shook hands is told unasked.
  const told = tellOfChanges(heddle, caller, peer, (change) => {
    return greeted && concerns(change, { callerId: caller.id, can: able, era: 'legacy' });
  });
  await peer.closed;
  following.close();
  own?.held.close();
  await told;
}

interface Leaving {
  readonly line: ClientLine;
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
  const hurry = AbortSignal.any([AbortSignal.timeout(FINISH_MS), ...(signal.aborted ? [] : [signal])]);
  // One that only said its last is told from one that is gone by whether it can still be spoken to.
  const ask = () => void peer.request('ping', {}, { deadlineMs: FINISH_MS }).catch(() => {});
  const asking = setInterval(() => isGreeted() && ask(), STILL_THERE_MS).unref();
  await Promise.race([finish(hurry), peer.closed]);
  clearInterval(asking);
  await peer.close();
}

function eraOf({ _meta }: JsonObject): Asked['era'] {
  return isObject(_meta) && META_KEY('protocolVersion') in _meta ? 'modern' : 'legacy';
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
