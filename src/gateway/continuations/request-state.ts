import { createHash } from 'node:crypto';
import { BoundedSet } from '../../core/bounded-map.ts';
import type { Call, Continuation, JsonObject, TaskContinuation } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { fromProofClaims, toProofClaims } from './proof-claims.ts';
import { type Sealer, sealer, type UnsealFailure } from './seal.ts';

/** The call that a `requestState` is bound to: its request and its caller. */
export type StateBinding = Pick<Call, 'id' | 'kind' | 'name' | 'input' | 'extraParams' | 'caller'>;

/** The continuation inside a `requestState`. A task continuation has a task id instead. */
export type StateContent = Exclude<Continuation, TaskContinuation>;

/** An opened `requestState`: the continuation and the id of the first call. */
export interface OpenedState {
  readonly callId: string;
  readonly continuation: StateContent;
  /** True for a call suspended in another process. */
  readonly isElsewhere: boolean;
}

/** Seals continuations as `requestState` for modern clients and opens them again. */
export interface RequestStates {
  seal(continuation: StateContent, call: StateBinding): string;
  /**
   * Opens a state and marks it as used. A second use of a state with an `upstream` continuation sets `again`. A second
   * use of a `call-again` state is `replayed`. A state of an approval may be used again: the store knows if it is over.
   */
  open(text: unknown, call: StateBinding): OpenedState | UnsealFailure;
}

/** Life of a `requestState`, equal to the life of a suspended call. */
export const STATE_TTL_MS = 300_000;
// The approval itself ends in the store, by the time of its rule.
const APPROVAL_STATE_TTL_MS = 7 * 24 * 3_600_000;
// Each state belongs to a call and lives 5 minutes. A caller that wants one forgotten has to make 10,000 calls.
const MAX_USED = 10_000;
// The authentication tag at the end of the sealed text is different for each state.
const TAIL_CHARS = 22;

export function requestStates(seals: Sealer = sealer()): RequestStates {
  const { clock, owner } = seals;
  const used = new BoundedSet<string>(MAX_USED);

  /** Marks a state as used. Returns true if this process has used it before. */
  function use(text: string): boolean {
    const tail = Buffer.from(text.slice(-TAIL_CHARS)).toString('latin1'); // A slice would keep the whole text in memory.
    if (used.has(tail)) return true;
    used.add(tail);
    return false;
  }

  return {
    seal(continuation, call) {
      const claims = toClaims(continuation, owner);
      const lifeMs = continuation.kind === 'approval' ? APPROVAL_STATE_TTL_MS : STATE_TTL_MS;
      const e = Math.ceil((clock() + lifeMs) / 1000);
      return seals.seal('h1', { ...claims, c: call.id, p: principalOf(call), d: digestOf(call), e });
    },
    open(text, call) {
      const claims = seals.open('h1', text);
      if (typeof claims === 'string') return claims;
      if (claims.p !== principalOf(call)) return 'foreign-principal';
      if (claims.d !== digestOf(call)) return 'other-call';
      if (Number(claims.e) * 1000 <= clock()) return 'expired';
      const isElsewhere = claims.o !== undefined && claims.o !== owner;
      const continuation = fromClaims(claims);
      const opened = { callId: String(claims.c), continuation, isElsewhere };
      // The ticket of a suspended call is single-use by itself: an invalid input response does not use it up.
      if (continuation.kind === 'suspended' || continuation.kind === 'approval' || !use(String(text))) return opened;
      if (continuation.kind !== 'upstream') return 'replayed';
      return { ...opened, continuation: { ...continuation, again: true } };
    },
  };
}

/**
 * Returns the claims of a state. Kinds: `a` approval, `p` suspended call, `r` call again, `o` continuation of the server.
 * Further claims: `s` server, `h` ticket, `u` the server's state, the elicitation ids or the id of the approval, `o` the
 * process that holds it, and those of `toProofClaims`.
 */
function toClaims(continuation: StateContent, owner: string): JsonObject {
  if (continuation.kind === 'approval') return { k: 'a', u: continuation.id };
  const common = { s: continuation.server, ...toProofClaims(continuation) };
  if (continuation.kind === 'suspended') return { k: 'p', ...common, h: continuation.ticket, o: owner };
  if (continuation.kind === 'call-again') return { k: 'r', ...common, u: continuation.after };
  return { k: 'o', ...common, ...(continuation.state !== undefined && { u: continuation.state }) };
}

/** Reads the claims of an authenticated state. Their shape is trusted, because this code sealed them. */
function fromClaims(claims: JsonObject): StateContent {
  const { k, s, u, h } = claims;
  if (k === 'a') return { kind: 'approval', id: String(u) };
  const common = { server: String(s), ...fromProofClaims(claims) };
  if (k === 'p') return { kind: 'suspended', ...common, ticket: String(h) };
  if (k === 'r') return { kind: 'call-again', ...common, after: u as readonly string[] };
  return { kind: 'upstream', ...common, ...(u !== undefined && { state: String(u) }) };
}

const sha256 = (value: JsonObject[string]) => createHash('sha256').update(canonicalJson(value)).digest('base64url');

/**
 * Hashes the caller, not the token: a token may be renewed before the call continues. A token without a person cannot
 * continue the call of a token with one: it would respond to the form.
 */
export const principalOf = ({ caller: { id, profile, person } }: Pick<Call, 'caller'>) =>
  sha256([id, profile ?? null, ...(person === undefined ? [] : [person])]).slice(0, 22);
/** Hashes the request without `_meta`, which may change when the call continues. */
const digestOf = ({ kind, name, input, extraParams }: StateBinding) => sha256([kind, name, input, extraParams ?? null]);
