import type { LiveMetrics } from '../catalog/routing/metrics.ts';
import { redact } from '../config/read/redact.ts';
import { requireRole } from '../core/call/caller.ts';
import type { Caller, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { ServerStatus } from '../core/records/server-status.ts';
import type { Clock } from '../core/time.ts';
import { deniesServer, hidesServer, type Policy } from '../govern/decide.ts';
import type { Heddle, LocalServer } from '../heddle.ts';
import type { AuditLog } from '../store/audit-log.ts';
import { requireCustom } from '../upstream/lifecycle/notifications.ts';
import type { ProgramServer } from '../upstream/lifecycle/programmatic-servers.ts';
import type { Servers } from '../upstream/servers.ts';
import { auditedChanges, recordIn } from './audited-change.ts';
import type { RegisteredServers } from './registered-servers.ts';
import { type RefusalOptions, withRefusals } from './sign-in/remembered-refusals.ts';

export interface AdministrationOptions extends RefusalOptions {
  readonly servers: Servers;
  readonly metrics: Pick<LiveMetrics, 'server'>;
  readonly registered: RegisteredServers;
  readonly policy: () => Policy;
  readonly audit: AuditLog;
  readonly clock: Clock;
  /** Tests whether a server entry lists this method of an extension. */
  readonly isRequest: (method: string) => boolean;
}

/** Returns the administration of servers. It bypasses the stages, so it checks roles and writes audit records itself. */
export function administration(options: AdministrationOptions): Heddle['servers'] {
  const { servers, metrics, registered, policy, audit, clock, isRequest } = options;
  const list = (by: Caller) => servers.status(by).map((one) => ({ ...one, metrics: metrics.server(one.name) }));
  const statusOf = (by: Caller, name: string) => list(by).find((one) => one.name === name) as ServerStatus;
  const area = { area: 'servers', audit, clock };
  const recordOf = recordIn(area);
  const audited = auditedChanges(area);

  async function change(by: Caller, action: string, detail: JsonObject, act: () => Promise<void>): Promise<void> {
    requireRole(by, ['owner', 'operator']);
    return audited(by, { action, detail }, act);
  }

  const put = (action: 'register' | 'update') =>
    async function put(by: Caller, name: string, server: JsonObject | LocalServer): Promise<ServerStatus> {
      const local = isLocal(server);
      const entry = local ? {} : structuredClone(server); // A copy: the audit record shows exactly the entry in use.
      const detail = { server: name, entry: local ? kindOf(server) : redact(entry) };
      await change(by, action, detail, () => registered[action](name, local ? (server as ProgramServer) : entry));
      return statusOf(by, name);
    };

  return {
    async list(by) {
      requireRole(by, ['owner', 'operator', 'auditor']);
      // Callers without a profile see also the servers that a rule denies to every caller.
      const seen = list(by).filter(({ name }) => by.profile === undefined || !hidesServer(policy(), by, name));
      return withRefusals(options, by, seen);
    },
    async connect(by, name, signal) {
      requireRole(by, ['owner', 'operator']);
      audit.append({ ...recordOf(by, 'connect'), phase: 'intent', detail: { server: name } });
      await servers.connect(name, signal, { caller: by }).catch((thrown) => {
        if (HeddleError.from(thrown).code === 'NAME_UNKNOWN') throw thrown; // Any other failure is a status.
      });
      const { capabilities } = by;
      // The status has the number of tools that the caller sees, if they can be listed.
      if (capabilities) await servers.discoverTools(name, { caller: by, capabilities }, signal).catch(() => {});
      return statusOf(by, name);
    },
    async disconnect(by, name) {
      await change(by, 'disconnect', { server: name }, () => servers.disconnect(name));
      return statusOf(by, name);
    },
    async notify(by, server, { method, params, signal = new AbortController().signal }) {
      requireRole(by, ['owner', 'operator']);
      requireCustom(method, isRequest);
      if (deniesServer(policy(), server)) throw new HeddleError('PERMISSION_DENIED', `A rule denies ${server}.`);
      const sent = structuredClone(params); // A copy: the program cannot change it before it is sent.
      await audit.appendDurably({ ...recordOf(by, 'notify'), phase: 'intent', detail: { server, method } });
      await servers.notify(server, { method, params: sent, user: { caller: by } }, signal);
    },
    rootsChanged: servers.rootsChanged,
    register: put('register'),
    update: put('update'),
    unregister: (by, name) => change(by, 'unregister', { server: name }, () => registered.unregister(name)),
  };
}

const isLocal = (server: JsonObject | LocalServer): server is LocalServer =>
  ['connect', 'transport'].some((name) => typeof (server as Record<string, unknown>)[name] === 'function');

const kindOf = (server: LocalServer): string => ('connect' in server ? 'in process' : 'transport of the program');
