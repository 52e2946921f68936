import type { Readable, Writable } from 'node:stream';
import type { Abilities, Caller, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Heddle } from '../heddle.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { Peer } from '../wire/peer.ts';
import { type Asked, type Logging, META_KEY } from './asked.ts';
import { checkEnvelope } from './check-modern.ts';
import { abilitiesIn, abilitiesOf } from './client-abilities.ts';
import type { AskClient } from './client-questions.ts';
import { followed } from './followed.ts';
import { mcpHandler } from './mcp-handler.ts';
import { STATE_TTL_MS } from './request-state.ts';
import { StreamLine } from './stream-line.ts';

export interface StdioFace {
  readonly heddle: Heddle;
  readonly caller: Caller;
  readonly input: Readable;
  readonly output: Writable;
}

/** Serves one MCP client over a pair of streams, in either era. Settles when the client hangs up or the signal aborts. */
export async function serveStdio({ heddle, caller, input, output }: StdioFace, signal: AbortSignal): Promise<void> {
  const answer = mcpHandler(heddle);
  let greeted = false;
  let able: Abilities | undefined;
  const logging: Logging = { level: undefined };
  const ask: AskClient = ({ method, params = {} }, signal) =>
    peer.request(method, params, { deadlineMs: STATE_TTL_MS, signal });
  const peer = new Peer(new StreamLine(input, output), {
    server: 'the client',
    async answer(method, params, { id, signal }) {
      const era = eraOf(params);
      const refusal = era === 'modern' ? checkEnvelope(params) : undefined;
      if (refusal) throw new RpcError(refusal.code, refusal.message, refusal.data);
      if (method === 'initialize') {
        greeted = true;
        able = abilitiesOf(params.capabilities);
      }
      const notify = (name: string, said: JsonObject) => {
        peer.notify(name, said).catch(() => {}); // It has left.
        return true;
      };
      const user = era === 'modern' ? { can: abilitiesIn(params) } : { can: able, ask, logging };
      return answer(method, params, { id, era, caller, signal, notify, followed: following, ...user });
    },
  });
  const following = followed((method, params) => void peer.notify(method, params).catch(() => {}));
  await peer.start();
  const onAbort = () => void peer.close();
  signal.addEventListener('abort', onAbort, { once: true });
  // A modern client subscribes to changes; only one that shook hands is told unasked.
  const told = tellOfChanges(heddle, caller, peer, () => greeted);
  await peer.closed;
  following.close();
  signal.removeEventListener('abort', onAbort);
  await told;
}

function eraOf({ _meta }: JsonObject): Asked['era'] {
  return isObject(_meta) && META_KEY('protocolVersion') in _meta ? 'modern' : 'legacy';
}

async function tellOfChanges(heddle: Heddle, caller: Caller, peer: Peer, listens: () => boolean): Promise<void> {
  const ended = new AbortController();
  peer.closed.then(() => ended.abort());
  for await (const { kind, subject } of heddle.changes(caller, ended.signal)) {
    if (kind === 'catalog' && listens()) await peer.notify(`notifications/${subject}/list_changed`).catch(() => {});
  }
}
