import { createHash } from 'node:crypto';
import { BoundedSet } from '../../core/bounded-map.ts';
import type { Call, Continuation, JsonObject, TaskContinuation } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { type Sealer, sealer, type UnsealFailure } from './seal.ts';

/** What a state belongs to: who asked for what. */
export type StateBinding = Pick<Call, 'id' | 'kind' | 'name' | 'input' | 'extraParams' | 'caller'>;

/** How a call goes on that stopped to ask; what a server does by itself has an id of its own. */
export type StateContent = Exclude<Continuation, TaskContinuation>;

/** What was sealed: how the call goes on, and the id it began with. */
export interface OpenedState {
  readonly callId: string;
  readonly next: StateContent;
  /** It waits in a process that is not this one. */
  readonly isElsewhere: boolean;
}

/** Gives clients without a session what they bring back with their answers, and believes only that. */
export interface RequestStates {
  seal(next: StateContent, call: StateBinding): string;
  /** What is opened counts as used. A server that would be called anew is not, for a state that was used before. */
  open(text: unknown, call: StateBinding): OpenedState | UnsealFailure;
}

/** As long as a call waits for answers. */
export const STATE_TTL_MS = 300_000;
// Each was given out for a call, and is good for minutes only: whoever wants one forgotten has to make as many.
const MAX_USED = 10_000;
// The tag of the seal: no two have the same.
const TAIL_CHARS = 22;

export function requestStates(seals: Sealer = sealer()): RequestStates {
  const { clock, owner } = seals;
  const used = new BoundedSet<string>(MAX_USED);

  /** Whether it was used before, in this process. */
  function use(text: string): boolean {
    const tail = Buffer.from(text.slice(-TAIL_CHARS)).toString('latin1'); // A slice would keep all of the text in memory.
    if (used.has(tail)) return true;
    used.add(tail);
    return false;
  }

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
      const opened = { callId: String(claims.c), next: fromClaims(claims), isElsewhere };
      const { next } = opened;
      // What waits in a process knows by itself whether it was gone on with: an answer that does not fit is no use of it.
      if (next.kind === 'suspended' || !use(String(text))) return opened;
      return next.kind === 'upstream' ? { ...opened, next: { ...next, again: true } } : 'replayed';
    },
  };
}

function toClaims(next: StateContent, owner: string): JsonObject {
  const { server: s } = next;
  if (next.kind === 'suspended') return { k: 'p', s, h: next.ticket, o: owner };
  if (next.kind === 'call-again') return { k: 'r', s, u: next.after };
  return { k: 'o', s, ...(next.state !== undefined && { u: next.state }) };
}

/** Only what we sealed ourselves comes this far. */
function fromClaims({ k, s, u, h }: JsonObject): StateContent {
  const server = String(s);
  if (k === 'p') return { kind: 'suspended', server, ticket: String(h) };
  if (k === 'r') return { kind: 'call-again', server, after: u as readonly string[] };
  return { kind: 'upstream', server, ...(u !== undefined && { state: String(u) }) };
}

const sha256 = (value: JsonObject[string]) => createHash('sha256').update(canonicalJson(value)).digest('base64url');

/** The caller, not the token: tokens are renewed between rounds. */
export const principalOf = ({ caller }: Pick<Call, 'caller'>) =>
  sha256([caller.id, caller.profile ?? null]).slice(0, 22);
/** Without `_meta`, which may change between rounds. */
const digestOf = ({ kind, name, input, extraParams }: StateBinding) => sha256([kind, name, input, extraParams ?? null]);
