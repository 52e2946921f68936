import { findMethod } from '../../catalog/extensions/find-method.ts';
import { findIn } from '../../catalog/find.ts';
import type { LoadedPolicy } from '../../config/config.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { requireRole } from '../../core/call/caller.ts';
import type { Caller, CallKind, Target } from '../../core/call.ts';
import type { AuditEntry } from '../../core/records/audit-entry.ts';
import type { ChangedCall, SimulateOptions, Simulation, UndecidableCall } from '../../core/records/policy.ts';
import type { Policy } from '../../govern/decide.ts';
import { isOpening, type RecordedCallOptions, recordedCall } from '../../govern/policy/recorded-call.ts';
import { changeOf, simulation } from '../../govern/policy/simulate.ts';
import type { AuditLog } from '../../store/audit-log.ts';
import type { PermissionOptions } from './entry-permissions.ts';
import { readCandidate } from './read-candidate.ts';
import { OVERSEERS } from './subject-caller.ts';

export interface SimulationOptions extends Pick<PermissionOptions, 'catalog' | 'active'> {
  readonly audit: Pick<AuditLog, 'read'>;
}

const MAX_CHANGED = 1000;
const MAX_TARGETS = 10_000;
const MAX_RECENT = 100_000;

/**
 * Decides on each recorded call by the current and by the candidate rules. A thread reads the records in batches, the
 * newest first; other calls run between two batches.
 */
export async function simulateCalls(
  { catalog, active, audit }: SimulationOptions,
  by: Caller,
  { candidate, since, signal, onProgress }: SimulateOptions,
): Promise<Simulation> {
  requireRole(by, OVERSEERS);
  const { policy } = active();
  const next = withCandidate(policy, await readCandidate(candidate));
  const simulate = simulation(policy, next);
  const options: RecordedCallOptions = {
    find: finder((kind, name) =>
      kind === 'extension'
        ? findMethod(active().methods, name, catalog.current(by))
        : findIn(catalog.current(by), { kind, name }, () => true),
    ),
    looksAtTaint: [policy, next].some(looksAtTaint),
  };
  const counts = { calls: 0, unchanged: 0, allow: 0, ask: 0, deny: 0 };
  const changed: ChangedCall[] = [];
  const undecidableBy: Record<string, number> = {};
  const undecidableCalls: UndecidableCall[] = [];
  // An approved call has two opening records: of the request, and of its use.
  const recent = new BoundedMap<string, true>(MAX_RECENT);

  function addUndecidable(entry: AuditEntry, reason: string): void {
    undecidableBy[reason] = (undecidableBy[reason] ?? 0) + 1;
    if (undecidableCalls.length < MAX_CHANGED) undecidableCalls.push({ ...identityOf(entry), reason });
  }

  function add(entry: AuditEntry): void {
    if (!isOpening(entry) || recent.has(entry.callId)) return;
    recent.set(entry.callId, true);
    counts.calls++;
    const call = recordedCall(entry, options);
    const simulated = typeof call === 'string' ? undefined : simulate(call);
    if (!simulated) {
      addUndecidable(entry, typeof call === 'string' ? call : 'a value was redacted or cut');
      return;
    }
    const change = changeOf(simulated);
    counts[change]++;
    if (change === 'unchanged' || changed.length >= MAX_CHANGED) return;
    changed.push({ ...identityOf(entry), ...simulated });
  }

  for await (const batch of audit.read({ since, phase: 'intent' }, { order: 'newest', signal })) {
    for (const entry of batch) add(entry);
    onProgress?.(counts.calls);
  }
  return {
    calls: counts.calls,
    unchanged: counts.unchanged,
    newlyAllowed: counts.allow,
    newlyAsked: counts.ask,
    newlyDenied: counts.deny,
    undecidable: Object.values(undecidableBy).reduce((sum, count) => sum + count, 0),
    changed,
    undecidableBy,
    undecidableCalls,
  };
}

const identityOf = ({ callId, at, caller, name }: AuditEntry) => ({ callId, at, caller, name });

/** Replaces the rules of the same names, and adds the others. */
function withCandidate(policy: Policy, rules: readonly LoadedPolicy[]): Policy {
  const names = new Set(rules.map(({ name }) => name));
  return { ...policy, rules: [...(policy.rules ?? []).filter(({ name }) => !names.has(name)), ...rules] };
}

const looksAtTaint = ({ rules = [] }: Policy): boolean =>
  rules.some(({ condition }) => condition?.variables.has('taint') === true);

/** Keeps the entries found, so that thousands of calls of one tool look it up once. */
function finder(find: RecordedCallOptions['find']): RecordedCallOptions['find'] {
  const known = new BoundedMap<string, { readonly target: Target | undefined }>(MAX_TARGETS);
  return (kind: CallKind, name: string) => {
    const key = `${kind} ${name}`;
    const found = known.get(key) ?? { target: findOne(find, kind, name) };
    known.set(key, found);
    return found.target;
  };
}

/** Finds an entry. A name that several servers have by now is none. */
function findOne(find: RecordedCallOptions['find'], kind: CallKind, name: string): Target | undefined {
  try {
    const target = find(kind, name);
    if (!target?.onlyFor) return target;
    const { onlyFor: _, ...forAll } = target; // The capabilities of the client are not recorded.
    return forAll;
  } catch {
    return undefined;
  }
}
