import { SETTING_DEFAULTS } from '../../config/schema/defaults.ts';
import type { Settings } from '../../config/schema/schema.ts';
import {
  type Caller,
  compose,
  type DecidedCall,
  type Handler,
  type Result,
  type Stage,
  type Target,
} from '../../core/call.ts';
import { aCall, ada, aTarget, text } from '../../core/fixtures.ts';
import type { PreviewCall } from '../../core/records/call-preview.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { approve } from '../approve.ts';
import { audit } from '../audit.ts';
import { type RealStore, realStore } from '../fixtures.ts';
import { recordIntent } from '../record-intent.ts';
import { type ApprovalFlow, approvalFlow } from './approval-flow.ts';

export const ops: Caller = { id: 'key:ops', roles: ['approver'], via: 'gateway' };
export const boss: Caller = { id: 'owner', roles: ['owner'], via: 'gateway' };
export const START = Date.UTC(2026, 10, 17, 9);

/** An approval rule of one approver; override only what your test is about. */
export const anApprovalRule = (overrides: object) => ({
  name: 'r',
  stages: [{ approvers: ['role:approver'], need: 1 }],
  notRequester: false,
  client: true,
  standing: true,
  ...overrides,
});

/** A pending approval; override only what your test is about. */
export const anApproval = (overrides: Partial<StoredApproval> = {}): StoredApproval => ({
  id: 'ap_0123456789abcdef',
  status: 'pending',
  subject: {
    kind: 'tool',
    name: 'mcp__demo__echo',
    servers: ['demo'],
    digest: 'f00d',
    riskLevel: 'medium',
    arguments: { path: 'a', password: 'x' },
    inputDigest: 'd',
  },
  requestedBy: 'ada',
  via: 'gateway',
  requestedAt: START,
  expiresAt: START + 300_000,
  reasons: ['routine'],
  rule: 'mode strict',
  stages: [{ approvers: ['role:owner', 'role:approver'], need: 1 }],
  notRequester: false,
  allowsStanding: true,
  decisions: [],
  binding: 'b',
  principal: 'ada',
  version: 1,
  ...overrides,
});

export interface Bench {
  readonly store: RealStore;
  readonly flow: ApprovalFlow;
  /** Dispatches a call that asks, through `approve` and `recordIntent`. */
  send(overrides?: Partial<DecidedCall>): Promise<Result>;
  /** The calls that reached the server. */
  readonly reached: DecidedCall[];
  /** Settings that a test may replace. */
  approvals: Partial<Settings['approvals']>;
  apiKeys: { name: string; roles: Caller['roles'] }[];
  target: Target;
  signature: string;
  now: number;
  invoke: Handler<DecidedCall>;
  preview: PreviewCall | undefined;
  /** Makes the other benches take the process of this one for dead. */
  die(): void;
}

const deadProcesses = new Set<string>();

const ASKS = { effect: 'ask', rule: 'mode strict', reason: 'Mode strict asks for every external tool.' } as const;

/** Builds the stage on a real store, with a clock that stands still. Each call has its own id. A store may be shared. */
export async function approvalBench(caller: Caller = ada, shared?: RealStore): Promise<Bench> {
  const store = shared ?? (await realStore());
  const process = crypto.randomUUID();
  let calls = 0;
  const bench = {
    store,
    reached: [] as DecidedCall[],
    approvals: {},
    apiKeys: [{ name: 'ops', roles: ['approver'] }],
    target: aTarget(),
    signature: 's',
    now: START,
    invoke: async () => text('done'),
    die: () => void deadProcesses.add(process),
  } as unknown as { -readonly [K in keyof Bench]: Bench[K] };
  bench.flow = approvalFlow({
    box: store.approvals,
    calls: store.approvalCalls,
    standing: store.standing,
    // No timer renews them, and a machine may stand still for 30 s.
    leases: { ...store.leases, acquire: (name) => store.leases.acquire(name, 600_000) },
    processes: {
      owner: () => `${process} ${crypto.randomUUID()}`,
      isOwnerDead: (owner) => deadProcesses.has(owner.split(' ')[0] ?? ''),
    },
    keys: store.keys,
    audit: store.audit,
    settings: () =>
      ({
        ...SETTING_DEFAULTS,
        approvals: { ...SETTING_DEFAULTS.approvals, ...bench.approvals },
        gateway: { ...SETTING_DEFAULTS.gateway, apiKeys: bench.apiKeys },
      }) as unknown as Settings,
    groups: () => undefined,
    signatureOf: () => bench.signature,
    fileOf: () => '/project/heddle.json:3',
    clock: () => bench.now,
    timer: () => () => {},
  });
  const closing = audit(store.audit);
  const recordOutcome: Stage<DecidedCall> = (call, next) => closing(call, () => next(call));
  const handler = compose(
    [recordOutcome, approve(async () => bench.flow, { previewOf: () => bench.preview }), recordIntent(store.audit)],
    (call) => {
      bench.reached.push(call);
      return bench.invoke(call);
    },
  );
  bench.send = (overrides = {}) =>
    handler(
      aCall({
        id: `${shared ? 'other' : 'call'}-${++calls}`,
        caller,
        target: bench.target,
        decision: ASKS,
        ...overrides,
      }),
    );
  return bench;
}

/** Returns the id of the approval that a result waits for. */
export function approvalIdOf(result: Result): string {
  if (result.kind === 'complete' || result.continuation.kind !== 'approval') throw new Error(`It is ${result.kind}.`);
  return result.continuation.id;
}
