import type { Catalog } from '../catalog/catalog.ts';
import { findMethod } from '../catalog/extensions/find-method.ts';
import { extensionResolver } from '../catalog/extensions/resolve-extension.ts';
import { withLinked } from '../catalog/find.ts';
import { startUnknownServers } from '../catalog/list.ts';
import { readStages } from '../catalog/reads/read-stages.ts';
import { resolver, withTarget } from '../catalog/resolve.ts';
import { invoke } from '../catalog/routing/invoke.ts';
import { subjectOf } from '../catalog/subject.ts';
import { configDigest } from '../config/config-digest.ts';
import { requireRole } from '../core/call/caller.ts';
import type { Call, Caller, Target } from '../core/call.ts';
import type { LeftCallOf } from '../govern/approvals/approve-call.ts';
import type { OpenApprovalFlow } from '../govern/approve.ts';
import { type Decide, hidesServer } from '../govern/decide.ts';
import type { BudgetOptions } from '../govern/limits/budget-windows.ts';
import { pipeline } from '../govern/pipeline.ts';
import { openTaints } from '../govern/policy/taints.ts';
import type { PreviewOf } from '../govern/preview-call.ts';
import { rates } from '../govern/rate-limit.ts';
import { type StageOptions, type Stages, stageNames, stages } from '../govern/stages.ts';
import type { Heddle } from '../heddle.ts';
import { access } from './access.ts';
import type { ActiveConfig } from './active-config.ts';
import { administration } from './administration.ts';
import { prepareApprovals } from './approvals/prepare-approvals.ts';
import { auditApi } from './audit/audit-api.ts';
import { browse, LIST_WAIT_MS, nameWaitMs } from './browse.ts';
import { changesFor } from './change-publishers.ts';
import { hooksOf } from './hooks-of.ts';
import { policyApi } from './policy/policy-api.ts';
import { profileNames } from './profile-names.ts';
import type { RunningParts } from './running-parts.ts';
import { browserSignIns } from './sign-in/browser-sign-ins.ts';
import { signInCall } from './sign-in/sign-in-call.ts';
import { signIns } from './sign-in/sign-ins.ts';
import { prepareWorkflows } from './workflows/prepare-workflows.ts';

/** Builds the Heddle object over open parts. `shutDown` closes them; it runs once. */
export function createHeddle(parts: RunningParts, shutDown: () => Promise<void>): Heddle {
  const { active, store, changes, catalog, servers, wallClock } = parts;
  const decide: Decide = (caller, target, sent) => active().decide(caller, target, sent);
  const view = viewOf(parts, decide);
  const resolveExtension = extensionResolver(view);
  const priorityOf = (server: string) => active().configs.get(server)?.entry?.priority ?? 0;
  const counted = rates(() => active().limits, parts.clock);
  const approvals = prepareApprovals(parts);
  const order = stagesOf(parts, { view, decide, rates: counted, approvals: approvals.flow });
  const pages = browserSignIns(parts);
  const onCredential = servers.credentialChanged;
  const signInUrl = parts.options.signInUrl ?? ((server, caller) => pages.pageFor(caller, server));
  const signIn = signInCall({ servers, signInUrl });
  const send = invoke({
    ...parts,
    priorityOf,
    outputCheckOf: outputChecksOf(active),
    admitTo: counted.admitTo,
    signIn,
  });

  function waiting(listWaitMs: number, firstListMs?: () => number): Pick<Heddle, 'dispatch' | 'catalog'> {
    const discover = (caller: Caller, signal: AbortSignal) =>
      startUnknownServers(view, caller, nameWaitMs(listWaitMs), signal);
    const names = profileNames({ ...view, active, discover });
    const resolve = names.resolving(resolver({ ...view, discover }));
    const dispatch = pipeline({
      ...order,
      resolve(call) {
        const found = call.kind === 'extension' ? resolveExtension(call) : resolve(call);
        return found instanceof Promise ? found.then((target) => withTarget(call, target)) : withTarget(call, found);
      },
      invoke: send,
    });
    return { dispatch, catalog: names.browsing(browse({ ...view, listWaitMs, firstListMs }, resolve)) };
  }

  let closing: Promise<void> | undefined;
  const front = waiting(parts.options.listWaitMs ?? LIST_WAIT_MS, firstListWaitOf(parts));
  const workflows = prepareWorkflows({ ...parts, ...front, browse: front.catalog, catalog, approvals });
  return {
    ...front,
    ...workflows.api,
    waiting: (waitMs) => waiting(waitMs),
    browserSignIns: pages,
    access: access({ ...parts, config: () => active().config, clock: wallClock, onCredential }),
    signIns: signIns({ ...parts, serverVisible: view.serverVisible, onCredential }),
    servers: administrationOf(parts),
    policy: policyApi(parts, front.catalog.describe),
    approvals: approvals.api,
    ...measurementsOf(parts),
    ...configurationOf(active),
    changes: changesFor(changes, view.serverVisible),
    async doctor(by, server, signal) {
      const { openDoctor } = await import('./doctor.ts');
      const checked = { ...parts, approvals: approvals.api, audit: store.audit, stages: stageNames(order) };
      return openDoctor(checked)(by, server, signal);
    },
    close() {
      closing ??= workflows.close().then(approvals.close).then(shutDown);
      return closing;
    },
  };
}

/** Returns the wait of the first list; undefined if the program sets one wait for all lists. */
const firstListWaitOf = ({ active, options }: RunningParts): (() => number) | undefined =>
  options.listWaitMs === undefined ? () => active().config.settings.connect.firstListMs : undefined;

/** Returns the catalog and servers as callers see them, by the rules in force. */
function viewOf({ active, catalog, servers }: RunningParts, decide: Decide) {
  return {
    catalog,
    servers,
    visible: (caller: Caller, target: Target) => decide(caller, target).effect !== 'deny',
    serverVisible: (caller: Caller, server: string) => !hidesServer(active().policy, caller, server),
    rules: () => active().decide,
    methods: () => active().methods,
  };
}

/** The parts of the stages that createHeddle has built. */
interface StageContext extends Pick<StageOptions, 'decide' | 'rates'> {
  readonly view: Omit<Parameters<typeof readStages>[0], 'notifications' | 'clock'>;
  readonly approvals: OpenApprovalFlow;
}

function stagesOf(parts: RunningParts, { view, decide, rates, approvals }: StageContext): Stages {
  const { active, store, catalog, wallClock } = parts;
  const taints = taintsOf(parts);
  return stages({
    audit: store.audit,
    traces: store.traces,
    subject: (call) =>
      subjectIn(catalog.current(call.caller), withLinked(catalog, call), { active, visible: view.visible }),
    decide,
    rates,
    budgets: budgetsOf(parts),
    hooks: hooksOf(parts, { openFlow: approvals, taints }),
    approvals,
    previewOf: previewsOf(parts),
    leftCallOf: leftCallsOf(parts),
    reads: readStages({ ...view, notifications: parts.notified, clock: parts.clock }),
    clock: wallClock,
    taints,
  });
}

const administrationOf = ({ active, store, wallClock, ...parts }: RunningParts): Heddle['servers'] =>
  administration({
    ...{ ...parts, active, store, clock: wallClock, audit: store.audit, policy: () => active().policy },
    isRequest: (method) => active().methods.has(method),
  });

interface SubjectView {
  readonly active: () => ActiveConfig;
  readonly visible: (caller: Caller, target: Target) => boolean;
}

/** Returns the name and server under which a call is traced. */
function subjectIn(known: Catalog, call: Call, { active, visible }: SubjectView): ReturnType<typeof subjectOf> {
  if (call.kind !== 'extension') return subjectOf(known, call, (target) => visible(call.caller, target));
  const target = findMethod(active().methods, call.name, known);
  return target && { name: target.publicName, server: target.servers[0] };
}

/** Finds the preview of a tool. A configured server that has the name of a built-in one is not it. */
const previewsOf =
  ({ builtIns }: Pick<RunningParts, 'builtIns'>): PreviewOf =>
  ({ facts, servers: [server] }) =>
    facts.builtin ? builtIns.find(({ name }) => name === server)?.preview : undefined;

/** Finds the run that an equal call of a workflow has left. */
const leftCallsOf =
  (parts: RunningParts): LeftCallOf =>
  async (call) => {
    if (call.target.servers[0] !== 'workflow') return undefined;
    const { leftCallOf } = await import('./runs/left-calls.ts');
    return leftCallOf(parts, call);
  };

const outputChecksOf = (active: () => ActiveConfig) => (server: string) =>
  active().configs.get(server)?.entry?.outputCheck ?? 'flag';

const taintsOf = ({ active, clock }: Pick<RunningParts, 'active' | 'clock'>) =>
  openTaints({ isTracked: () => active().looksAtTaint, trusted: () => active().policy.trusted ?? new Set(), clock });

/** Returns the parts of budgets. A caller that reaches `warnAt` is published as a change. */
const budgetsOf = ({ active, store, wallClock, changes }: RunningParts): BudgetOptions => ({
  settings: () => active().config.settings.budgets,
  spending: store.spending,
  clock: wallClock,
  onWarning: (detail) => changes.publish({ kind: 'budget', subject: detail.caller, detail }),
});

/** Shows how calls have ended, what they cost, how many tools need an approval, and what servers report. */
function measurementsOf(
  parts: RunningParts,
): Pick<Heddle, 'audit' | 'traces' | 'metrics' | 'approvalCounts' | 'budgets' | 'onNotification'> {
  const { store, metrics, notified, wallClock } = parts;
  return {
    onNotification(by, filter, handler) {
      requireRole(by, ['owner', 'operator']);
      return notified.on(filter, handler);
    },
    async approvalCounts(by) {
      const { countApprovals } = await import('./approval-counts.ts');
      return countApprovals(parts, by);
    },
    audit: auditApi({ audit: store.audit, clock: wallClock }),
    traces: {
      async stats(by, since, per = 'tool') {
        requireRole(by, ['owner', 'operator', 'auditor']);
        return store.traces.stats(since, per === 'tool' ? 'name' : per);
      },
    },
    async metrics(by) {
      requireRole(by, ['owner', 'operator', 'auditor']);
      return metrics.rows();
    },
    async budgets(by) {
      const { readBudgets } = await import('./read-budgets.ts');
      return readBudgets(parts, by);
    },
  };
}

/** Shows the active configuration to the owner. */
function configurationOf(active: () => ActiveConfig): Pick<Heddle, 'configuration' | 'configurationDigest'> {
  const { settings: atStart } = active().config;
  return {
    configuration(by) {
      requireRole(by, ['owner']);
      const { projectFolder, files, settings, origins, problems } = active().config; // Servers have expanded secrets.
      return { projectFolder, files, settings, origins, problems };
    },
    configurationDigest(by, key) {
      requireRole(by, ['owner']);
      return configDigest(active().config, key, atStart);
    },
  };
}
