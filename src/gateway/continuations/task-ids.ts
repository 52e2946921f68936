import type { Call, ClientCapabilities, TaskContinuation } from '../../core/call.ts';
import { principalOf } from './request-state.ts';
import type { Sealer, UnsealFailure } from './seal.ts';

/** What the id of a task says: whose call it is of, and where it goes on. */
export interface TaskRoute {
  readonly callId: string;
  /** As its caller wrote it. */
  readonly name: string;
  /** What its user could be asked when it began: later requests say nothing of it. */
  readonly capabilities: ClientCapabilities | undefined;
  /** At its server, or in a gateway, under a ticket. */
  readonly at: TaskContinuation | { readonly kind: 'held'; readonly ticket: string };
  /** It is held in a process that is not this one. */
  readonly isElsewhere: boolean;
}

/** Ids of tasks that any gateway with the same secret understands, and that are worth nothing to anybody else. */
export interface TaskIds {
  seal(at: TaskRoute['at'], call: Pick<Call, 'id' | 'name' | 'capabilities' | 'caller'>, ttlMs: number | null): string;
  open(text: unknown, asked: Pick<Call, 'caller'>): TaskRoute | UnsealFailure;
}

const HOUR_MS = 3_600_000;
// What a server never forgets is not remembered for ever by us, and no longer than secrets live.
const LONGEST_MS = 7 * 24 * HOUR_MS;
// Whether a task is gone is for its server to say.
const GRACE_MS = HOUR_MS;

export function taskIds(seals: Sealer): TaskIds {
  const { clock, owner } = seals;
  return {
    seal(at, call, ttlMs) {
      const lifeMs = Math.min((ttlMs ?? LONGEST_MS) + GRACE_MS, LONGEST_MS);
      const where = at.kind === 'held' ? { h: at.ticket, o: owner } : { s: at.server, u: at.taskId };
      return seals.seal('t1', {
        ...where,
        n: call.name,
        c: call.id,
        ...(call.capabilities && { a: ABILITIES.map((one) => (call.capabilities?.[one] ? 1 : 0)).join('') }),
        p: principalOf(call),
        e: Math.ceil((clock() + lifeMs) / 1000),
      });
    },
    open(text, asked) {
      const claims = seals.open('t1', text);
      if (typeof claims === 'string') return claims;
      const { s, u, h, o, n, c, a, p, e } = claims;
      if (p !== principalOf(asked)) return 'foreign-principal';
      if (Number(e) * 1000 <= clock()) return 'expired';
      return {
        callId: String(c),
        name: String(n),
        capabilities: typeof a === 'string' ? toAbilities(a) : undefined,
        at:
          h === undefined
            ? { kind: 'task', server: String(s), taskId: String(u), pollMs: 0 }
            : { kind: 'held', ticket: String(h) },
        isElsewhere: o !== undefined && o !== owner,
      };
    },
  };
}

const ABILITIES = ['form', 'url', 'sampling', 'samplingTools', 'roots'] as const satisfies (keyof ClientCapabilities)[];

const toAbilities = (bits: string) =>
  Object.fromEntries(ABILITIES.map((one, at) => [one, bits[at] === '1'])) as unknown as ClientCapabilities;
