import { examinePatterns } from '../catalog/examine-patterns.ts';
import type { LiveCatalog } from '../catalog/live-catalog.ts';
import { examineConfig } from '../config/check-config.ts';
import type { RemoteEntry } from '../config/schema/schema.ts';
import { requireRole } from '../core/call/caller.ts';
import type { Clock } from '../core/time.ts';
import type { Approvals, Heddle } from '../heddle.ts';
import { examineEnclosure, examineNode } from '../process/check-process.ts';
import type { Watchdog } from '../process/watchdog.ts';
import { examineAudit } from '../store/audit/check-audit.ts';
import type { AuditLog } from '../store/audit-log.ts';
import type { Store } from '../store/store.ts';
import type { AuthParts } from '../upstream/auth/auth-parts.ts';
import { checkServer } from '../upstream/doctor/check-server.ts';
import { inspectServer } from '../upstream/doctor/inspect-server.ts';
import type { Servers } from '../upstream/servers.ts';
import type { ActiveConfig } from './active-config.ts';
import type { BuiltIn } from './built-ins/built-in.ts';
import { examineOutputs } from './examine-outputs.ts';
import { examineRules } from './policy/examine-rules.ts';
import { examineProfiles } from './profile-names.ts';
import { signInsAt } from './sign-in/remembered-refusals.ts';

export interface DoctorOptions {
  readonly active: () => ActiveConfig;
  readonly audit: AuditLog;
  readonly store: Pick<Store, 'examine' | 'traces'>;
  readonly wallClock: Clock;
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  readonly watchdog: Watchdog;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stages: readonly string[];
  readonly auth: AuthParts;
  readonly approvals: Pick<Approvals, 'findings'>;
  readonly builtIns: readonly BuiltIn[];
}

/** Returns the doctor: it checks the whole installation, or one server in detail. */
export function openDoctor(options: DoctorOptions): Heddle['doctor'] {
  const { active, audit, store, catalog, servers, watchdog, env, stages, approvals } = options;
  return async function doctor(by, server, signal) {
    requireRole(by, ['owner', 'operator']);
    const configOf = (name: string) => active().configs.get(name);
    if (server !== undefined) {
      const isSignedIn = async (name: string, entry: RemoteEntry) =>
        (await signInsAt(options, [{ name, entry }], by)).some(({ state }) => state === 'signed-in');
      return inspectServer({ servers, by, watchdog, env, configOf, isSignedIn }, server, signal);
    }
    const installation = Promise.all([
      examineNode(),
      ...examineConfig(active().config),
      store.examine(),
      examineAudit(audit, signal),
      watchdog.enclosure().then(examineEnclosure),
    ]);
    const checks = servers.status().map(({ name }) => checkServer({ servers, by }, name, signal));
    // The rules are examined once the servers have listed their tools.
    const [examined, checked] = await Promise.all([installation, Promise.all(checks)]);
    return [
      ...examined,
      ...catalog.current().problems.map((message) => ({ level: 'warn' as const, subject: 'catalog', message })),
      ...examineProfiles(active(), catalog.current()),
      ...examineRules(active(), catalog.current()),
      ...examinePatterns(catalog.current()),
      ...(await approvals.findings(by)),
      { level: 'ok' as const, subject: 'pipeline', message: stages.join(' → ') },
      ...(await examineOutputs(store.traces, options.wallClock())),
      ...(await Promise.all(options.builtIns.map((builtIn) => builtIn.findings?.(signal) ?? []))).flat(),
      ...checked,
    ];
  };
}
