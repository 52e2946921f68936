import { createHash } from 'node:crypto';
import type { Call, Continuation, JsonObject, TaskContinuation } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import { type Distrust, type Sealer, sealer } from './seal.ts';

/** What a state belongs to: who asked for what. */
export type Bound = Pick<Call, 'id' | 'kind' | 'name' | 'input' | 'beside' | 'caller'>;

/** How a call goes on that stopped to ask; what a server does by itself has an id of its own. */
export type Asking = Exclude<Continuation, TaskContinuation>;

/** What was sealed: how the call goes on, and the id it began with. */
export interface Opened {
  readonly callId: string;
  readonly next: Asking;
  /** It waits in a process that is not this one. */
  readonly isElsewhere: boolean;
}

/** Gives clients without a session what they bring back with their answers, and believes only that. */
export interface RequestStates {
  seal(next: Asking, call: Bound): string;
  open(text: unknown, call: Bound): Opened | Distrust;
}

/** As long as a call waits for answers. */
export const STATE_TTL_MS = 300_000;

export function requestStates(seals: Sealer = sealer()): RequestStates {
  const { clock, owner } = seals;
  return {
    seal(next, call) {
      const e = Math.ceil((clock() + STATE_TTL_MS) / 1000);
      return seals.seal('h1', { ...toClaims(next, owner), c: call.id, p: principalOf(call), d: digestOf(call), e });
    },
    open(text, call) {
      const claims = seals.open('h1', text);
      if (typeof claims === 'string') return claims;
      if (claims.p !== principalOf(call)) return 'foreign-principal';
      if (claims.d !== digestOf(call)) return 'other-call';
      if (Number(claims.e) * 1000 <= clock()) return 'expired';
      const isElsewhere = claims.o !== undefined && claims.o !== owner;
      return { callId: String(claims.c), next: fromClaims(claims), isElsewhere };
    },
  };
}

function toClaims(next: Asking, owner: string): JsonObject {
  const { server: s } = next;
  if (next.kind === 'parked') return { k: 'p', s, h: next.ticket, o: owner };
  if (next.kind === 'call-again') return { k: 'r', s, u: next.after };
  return { k: 'o', s, ...(next.state !== undefined && { u: next.state }) };
}

/** Only what we sealed ourselves comes this far. */
function fromClaims({ k, s, u, h }: JsonObject): Asking {
  const server = String(s);
  if (k === 'p') return { kind: 'parked', server, ticket: String(h) };
  if (k === 'r') return { kind: 'call-again', server, after: u as readonly string[] };
  return { kind: 'upstream', server, ...(u !== undefined && { state: String(u) }) };
}

const sha256 = (value: JsonObject[string]) => createHash('sha256').update(canonicalJson(value)).digest('base64url');

/** The caller, not the token: tokens are renewed between rounds. */
export const principalOf = ({ caller }: Pick<Call, 'caller'>) =>
  sha256([caller.id, caller.profile ?? null]).slice(0, 22);
/** Without `_meta`, which may change between rounds. */
const digestOf = ({ kind, name, input, beside }: Bound) => sha256([kind, name, input, beside ?? null]);
