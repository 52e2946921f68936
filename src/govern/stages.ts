import type { Call, ResolvedCall, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog } from '../store/audit-log.ts';
import type { TraceLog } from '../store/trace-log.ts';
import { audit } from './audit.ts';
import { deadline } from './deadline.ts';
import type { Decide } from './decide.ts';
import { permit } from './permit.ts';
import { type Rates, rateLimit } from './rate-limit.ts';
import { recordIntent } from './record-intent.ts';
import { type Subject, trace } from './trace.ts';
import { validateInput } from './validate-input.ts';

export interface StageOptions {
  readonly audit: AuditLog;
  readonly traces: TraceLog;
  /** What calls are counted as; without it, what callers write. */
  readonly subject?: Subject;
  readonly decide: Decide;
  /** Shared with what asks one of several servers, which is counted there. */
  readonly rates: Rates;
  readonly clock?: Clock;
}

export interface Stages {
  readonly outer: readonly Stage<Call>[];
  readonly inner: readonly Stage<ResolvedCall>[];
}

/** The order in which every call is governed. It is a security property: test/pins/stages.test.ts holds it. */
export function stages({
  audit: log,
  traces,
  subject = () => undefined,
  decide,
  rates,
  clock = Date.now,
}: StageOptions): Stages {
  return {
    outer: [trace(traces, subject, clock), audit(log, clock)],
    inner: [rateLimit(rates), validateInput(), permit(decide), recordIntent(log, decide, clock), deadline()],
  };
}

/** The order as people read it; each stage is a named function. */
export function stageNames({ outer, inner }: Stages): readonly string[] {
  const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
  return [...names(outer), 'resolve', ...names(inner), 'invoke'];
}
