import { hash } from 'node:crypto';
import { requireRole } from '../../core/call/caller.ts';
import type { JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import type { ApprovalFlow } from '../../govern/approvals/approval-flow.ts';
import type { ApprovalWebhook } from '../../govern/approvals/webhook.ts';
import type { Approvals } from '../../heddle.ts';
import { type ApprovalObserver, approvalObserver } from '../hooks-of.ts';
import type { RunningParts } from '../running-parts.ts';
import { prepareWebhook } from './webhook-part.ts';

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
  let loaded: Promise<Omit<Approvals, 'findings'>> | undefined;
  const api = () => {
    loaded ??= import('./approval-api.ts').then(({ approvalApi }) => approvalApi(flow));
    return loaded;
  };
  return {
    flow,
    api: {
      list: async (by, query) => (await api()).list(by, query),
      get: async (by, id) => (await api()).get(by, id),
      decide: async (by, id, decision) => (await api()).decide(by, id, decision),
      settled: async (by, id, signal) => (await api()).settled(by, id, signal),
      async findings(by) {
        requireRole(by, ['owner', 'operator', 'auditor']);
        const { settings } = parts.active().config;
        if (settings.approvals.rules.length === 0) return [];
        const { examineApprovalRules } = await import('../../govern/approvals/examine-rules.ts');
        return examineApprovalRules(settings, await (await flow()).identities());
      },
      standing: {
        list: async (by) => (await api()).standing.list(by),
        revoke: async (by, id) => (await api()).standing.revoke(by, id),
      },
    },
    async close() {
      void opened?.then((flow) => flow.close());
      await Promise.all([webhook.close(), observer.close()]);
    },
  };
}

async function openFlow(
  { active, store, changes, wallClock }: ApprovalParts,
  { webhook, observer }: { readonly webhook: ApprovalWebhook; readonly observer: ApprovalObserver },
): Promise<ApprovalFlow> {
  const { approvalFlow } = await import('../../govern/approvals/approval-flow.ts');
  return approvalFlow({
    box: store.approvals,
    calls: store.approvalCalls,
    standing: store.standing,
    keys: store.keys,
    audit: store.audit,
    settings: () => active().config.settings,
    groups: () => active().policy.groups,
    signatureOf(server) {
      const entry = active().configs.get(server)?.entry;
      return entry && hash('sha256', canonicalJson(entry as unknown as JsonObject));
    },
    fileOf(server) {
      const at = active().configs.get(server)?.at;
      return at && `${at.file}:${at.line}`;
    },
    clock: wallClock,
    onChange(approval) {
      const { id, status, principal, version } = approval;
      if (status === 'pending' && version === 1) webhook.send();
      observer.observe(approval);
      changes.publish({ kind: 'approval', subject: id, detail: { status, requester: principal } });
    },
  });
}
