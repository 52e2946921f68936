import type { Call, ClientCapabilities, TaskContinuation } from '../../core/call.ts';
import { fromProofClaims, toProofClaims } from './proof-claims.ts';
import { principalOf } from './request-state.ts';
import type { Sealer, UnsealFailure } from './seal.ts';

/** The content of a task id: its call, and the server or gateway that runs it. */
export interface TaskRoute {
  readonly callId: string;
  /** The tool name as the caller wrote it. */
  readonly name: string;
  /** The client capabilities of the `tools/call`. Later requests about the task do not repeat them. */
  readonly capabilities: ClientCapabilities | undefined;
  readonly at: TaskContinuation | GatewayTaskRoute;
  /** True for a gateway task of another process. */
  readonly isElsewhere: boolean;
}

/** The ticket of a gateway task. Another process can resume a task whose call waits for an approval. */
export interface GatewayTaskRoute {
  readonly kind: 'gateway';
  readonly ticket: string;
}

/** Seals and opens task ids. Any gateway with the same secret opens them, for the same principal only. */
export interface TaskIds {
  seal(at: TaskRoute['at'], call: Pick<Call, 'id' | 'name' | 'capabilities' | 'caller'>, ttlMs: number | null): string;
  open(text: unknown, request: Pick<Call, 'caller'>): TaskRoute | UnsealFailure;
}

const HOUR_MS = 3_600_000;
// Limits the id of a task without a TTL. State secrets live longer than this.
const LONGEST_MS = 7 * 24 * HOUR_MS;
// The id outlives the task's TTL, so that the server itself reports that the task is gone.
const GRACE_MS = HOUR_MS;

export function taskIds(seals: Sealer): TaskIds {
  const { clock, owner } = seals;
  return {
    seal(at, call, ttlMs) {
      const lifeMs = Math.min((ttlMs ?? LONGEST_MS) + GRACE_MS, LONGEST_MS);
      const route =
        at.kind === 'gateway' ? { h: at.ticket, o: owner } : { s: at.server, u: at.taskId, ...toProofClaims(at) };
      return seals.seal('t1', {
        ...route,
        n: call.name,
        c: call.id,
        ...(call.capabilities && { a: CAPABILITIES.map((name) => (call.capabilities?.[name] ? 1 : 0)).join('') }),
        p: principalOf(call),
        e: Math.ceil((clock() + lifeMs) / 1000),
      });
    },
    open(text, request) {
      const claims = seals.open('t1', text);
      if (typeof claims === 'string') return claims;
      const { s, u, h, o, n, c, a, p, e } = claims;
      if (p !== principalOf(request)) return 'foreign-principal';
      if (Number(e) * 1000 <= clock()) return 'expired';
      return {
        callId: String(c),
        name: String(n),
        capabilities: typeof a === 'string' ? toCapabilities(a) : undefined,
        at:
          h === undefined
            ? { kind: 'task', server: String(s), taskId: String(u), pollMs: 0, ...fromProofClaims(claims) }
            : { kind: 'gateway', ticket: String(h) },
        isElsewhere: o !== undefined && o !== owner,
      };
    },
  };
}

const CAPABILITIES = [
  'form',
  'url',
  'sampling',
  'samplingTools',
  'roots',
] as const satisfies (keyof ClientCapabilities)[];

const toCapabilities = (bits: string) =>
  Object.fromEntries(CAPABILITIES.map((name, index) => [name, bits[index] === '1'])) as unknown as ClientCapabilities;
