import { requireRole } from '../../core/call/caller.ts';
import { realTimer, repeatEvery } from '../../core/time.ts';
import type { ApprovalFlow } from '../../govern/approvals/approval-flow.ts';
import type { ApprovalWebhook } from '../../govern/approvals/webhook.ts';
import type { Approvals } from '../../heddle.ts';
import type { ApprovalBox, StoredApproval } from '../../store/approval-box.ts';
import type { RunJournal } from '../../store/run-journal.ts';
import { type ApprovalObserver, approvalObserver } from '../hooks-of.ts';
import type { RunningParts } from '../running-parts.ts';
import { signatureIn } from './signature-of.ts';
import { prepareWebhook, RECHECK_MS } from './webhook-part.ts';

/** The approvals of a Heddle. Their code is loaded with the first call that needs one. */
export interface PreparedApprovals {
  readonly flow: () => Promise<ApprovalFlow>;
  readonly api: Approvals;
  /** Waits for the request to the webhook that is in flight and for hooks that run, if there are any. */
  close(): Promise<void>;
}

type ApprovalParts = Pick<RunningParts, 'active' | 'store' | 'changes' | 'wallClock' | 'watchdog' | 'env' | 'options'>;

/** Prepares the approvals over open parts. */
export function prepareApprovals(parts: ApprovalParts): PreparedApprovals {
  const webhook = prepareWebhook(parts);
  let opened: Promise<ApprovalFlow> | undefined;
  const flow = () => {
    opened ??= openFlow(parts, { webhook, observer });
    return opened;
  };
  const observer = approvalObserver(parts, flow);
  const stop = parts.options.watch ? openWithOpenApprovals(parts.store.approvals, flow) : undefined;
  let loaded: Promise<Omit<Approvals, 'findings'>> | undefined;
  const api = () => {
    loaded ??= import('./approval-api.ts').then(({ approvalApi }) => approvalApi(flow, observer));
    return loaded;
  };
  return {
    flow,
    api: {
      page: async (by, query) => (await api()).page(by, query),
      list: async (by, query) => (await api()).list(by, query),
      count: async (by, query) => (await api()).count(by, query),
      get: async (by, id) => (await api()).get(by, id),
      decide: async (by, id, decision) => (await api()).decide(by, id, decision),
      settled: async (by, id, signal) => (await api()).settled(by, id, signal),
      keepOpenMs: async (id) => (await api()).keepOpenMs(id),
      ofCall: async (by, callId) => (await api()).ofCall(by, callId),
      withdraw: async (by, callId) => (await api()).withdraw(by, callId),
      async findings(by) {
        requireRole(by, ['owner', 'operator', 'auditor']);
        const { settings } = parts.active().config;
        const { examinePerson } = await import('./token-person.ts');
        const ofTokens = examinePerson(settings);
        if (settings.approvals.rules.length === 0) return ofTokens;
        const { examineApprovalRules } = await import('../../govern/approvals/examine-rules.ts');
        return [...examineApprovalRules(settings, await (await flow()).identities()), ...ofTokens];
      },
      standing: {
        list: async (by) => (await api()).standing.list(by),
        revoke: async (by, id) => (await api()).standing.revoke(by, id),
      },
    },
    async close() {
      stop?.();
      void opened?.then((flow) => flow.close());
      await Promise.all([webhook.close(), observer.close()]);
    },
  };
}

/** Sends the decision to the run that waits for it. A signal that is lost is found by the run itself, within minutes. */
function resumeRun(runs: Pick<RunJournal, 'signal'>, { id, status, subject: { run } }: StoredApproval): void {
  if (!run || status === 'pending') return;
  void runs.signal(run.id, { kind: 'decided', by: 'heddle', detail: { approval: id } }).catch(() => {});
}

/**
 * Opens the flow once the store has an open approval, also one of an ended process: it times out without a call. A
 * gateway is the process that goes on after a restart.
 */
function openWithOpenApprovals(box: Pick<ApprovalBox, 'nextExpiry'>, flow: () => Promise<ApprovalFlow>): () => void {
  let stop = () => {};
  async function check(): Promise<void> {
    if ((await box.nextExpiry()) === undefined) return;
    stop();
    await flow();
  }
  const checkOrRetry = () => void check().catch(() => {}); // A store that cannot be read now is read again.
  stop = repeatEvery(realTimer, RECHECK_MS, checkOrRetry);
  checkOrRetry();
  return () => stop();
}

async function openFlow(
  { active, store, changes, wallClock }: ApprovalParts,
  { webhook, observer }: { readonly webhook: ApprovalWebhook; readonly observer: ApprovalObserver },
): Promise<ApprovalFlow> {
  const [{ approvalFlow }, { isOwnerDead, processName }] = await Promise.all([
    import('../../govern/approvals/approval-flow.ts'),
    import('../../files/file-lock.ts'),
  ]);
  return approvalFlow({
    box: store.approvals,
    calls: store.approvalCalls,
    standing: store.standing,
    leases: store.leases,
    processes: { owner: processName, isOwnerDead },
    keys: store.keys,
    audit: store.audit,
    settings: () => active().config.settings,
    groups: () => active().policy.groups,
    signatureOf: signatureIn(active),
    fileOf(server) {
      const at = active().configs.get(server)?.at;
      return at && `${at.file}:${at.line}`;
    },
    clock: wallClock,
    onChange(approval) {
      const { id, status, principal, version } = approval;
      if (status === 'pending' && version === 1) webhook.send();
      observer.observe(approval);
      resumeRun(store.runs, approval);
      changes.publish({ kind: 'approval', subject: id, detail: { status, requester: principal } });
    },
  });
}
