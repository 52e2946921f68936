import type { Call, DecidedCall, ResolvedCall, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog } from '../store/audit-log.ts';
import type { TraceLog } from '../store/trace-log.ts';
import type { ApproveLookups } from './approvals/approve-call.ts';
import { approve, type OpenApprovalFlow } from './approve.ts';
import { audit } from './audit.ts';
import { deadline } from './deadline.ts';
import type { Decide } from './decide.ts';
import { type CurrentHooks, hookStage } from './hooks/hooks.ts';
import { budget } from './limits/budget.ts';
import type { BudgetOptions } from './limits/budget-windows.ts';
import { type Permit, permit } from './permit.ts';
import type { Taints } from './policy/taints.ts';
import { type Rates, rateLimit } from './rate-limit.ts';
import { recordIntent } from './record-intent.ts';
import { type Subject, trace } from './trace.ts';
import { validateInput } from './validate-input.ts';

/** The stages of the catalog for reads. They are passed in, since govern does not import the catalog. */
export interface ReadStages {
  readonly cache: Stage<DecidedCall>;
  readonly coalesce: Stage<DecidedCall>;
  readonly followUpdates: Stage<DecidedCall>;
}

export interface StageOptions extends ApproveLookups {
  readonly audit: AuditLog;
  readonly traces: TraceLog;
  /** Maps a call to the name under which it is traced; without it, the name that the caller wrote. */
  readonly subject?: Subject;
  readonly decide: Decide;
  /** Shared with the routing of pools, which counts the calls of each server. */
  readonly rates: Rates;
  /** Without it costs are not limited. */
  readonly budgets?: BudgetOptions;
  /** Without it there are no hooks. */
  readonly hooks?: CurrentHooks;
  readonly reads: ReadStages;
  readonly approvals: OpenApprovalFlow;
  readonly clock?: Clock;
  /** The labels of sessions, if rules look at them. */
  readonly taints?: Taints;
}

/** The three rings of stages, and the step between the second and the third. */
export interface Stages {
  readonly outer: readonly Stage<Call>[];
  readonly resolved: readonly Stage<ResolvedCall>[];
  readonly permit: Permit;
  readonly decided: readonly Stage<DecidedCall>[];
}

/** Returns the stages in the order that every call passes. The order is a security property: a test in test/pins holds it. */
export function stages({
  audit: log,
  traces,
  subject = () => undefined,
  decide,
  rates,
  budgets,
  hooks: currentHooks = () => undefined,
  reads: { cache, coalesce, followUpdates },
  approvals,
  previewOf,
  leftCallOf,
  clock = Date.now,
  taints,
}: StageOptions): Stages {
  return {
    outer: [trace(traces, subject, clock), audit(log, clock)],
    resolved: [rateLimit(rates), budget(budgets), hookStage(currentHooks), validateInput()],
    permit: permit({ decide, log, clock, taints }),
    decided: [
      ...[approve(approvals, { previewOf, leftCallOf }), recordIntent(log, { clock, taints }), deadline()],
      ...[cache, coalesce, followUpdates],
    ],
  };
}

/** Lists the names of all stages in order, with the steps `resolve`, `permit` and `invoke` in their places. */
export function stageNames({ outer, resolved, permit, decided }: Stages): readonly string[] {
  const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
  return [...names(outer), 'resolve', ...names(resolved), permit.name, ...names(decided), 'invoke'];
}
