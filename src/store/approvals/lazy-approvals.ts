import type { ApprovalParts } from './open-approvals.ts';

/** Runs one operation on approvals or budgets. */
export type WithApprovals = <T>(work: (parts: ApprovalParts) => Promise<T>) => Promise<T>;

/** The parts for approvals and budgets, loaded on first use: most calls need none. */
export function lazyApprovals(use: WithApprovals): ApprovalParts {
  return {
    approvals: {
      open: (approval, limits) => use(({ approvals }) => approvals.open(approval, limits)),
      get: (id) => use(({ approvals }) => approvals.get(id)),
      find: (prefix) => use(({ approvals }) => approvals.find(prefix)),
      latest: (binding) => use(({ approvals }) => approvals.latest(binding)),
      replace: (next, options) => use(({ approvals }) => approvals.replace(next, options)),
      list: (query) => use(({ approvals }) => approvals.list(query)),
      count: (filter) => use(({ approvals }) => approvals.count(filter)),
      rejections: (principal, name, since) => use(({ approvals }) => approvals.rejections(principal, name, since)),
      due: (now, limit) => use(({ approvals }) => approvals.due(now, limit)),
      nextExpiry: () => use(({ approvals }) => approvals.nextExpiry()),
      unnotified: (now, limit) => use(({ approvals }) => approvals.unnotified(now, limit)),
      markNotified: (id, at) => use(({ approvals }) => approvals.markNotified(id, at)),
      watch: (onChange) => watchLazily(use, onChange),
    },
    approvalCalls: {
      join: (call, at) => use(({ approvalCalls }) => approvalCalls.join(call, at)),
      find: (principal, callId) => use(({ approvalCalls }) => approvalCalls.find(principal, callId)),
      cancel: (principal, callId) => use(({ approvalCalls }) => approvalCalls.cancel(principal, callId)),
      isAwaited: (approval) => use(({ approvalCalls }) => approvalCalls.isAwaited(approval)),
      issue: (proof, at) => use(({ approvalCalls }) => approvalCalls.issue(proof, at)),
      isIssued: (proof) => use(({ approvalCalls }) => approvalCalls.isIssued(proof)),
      use: (proof) => use(({ approvalCalls }) => approvalCalls.use(proof)),
    },
    standing: {
      all: () => use(({ standing }) => standing.all()),
      add: (approval) => use(({ standing }) => standing.add(approval)),
      revoke: (id) => use(({ standing }) => standing.revoke(id)),
      use: (id) => use(({ standing }) => standing.use(id)),
      giveBack: (id) => use(({ standing }) => standing.giveBack(id)),
    },
    spending: {
      spent: (caller, windows) => use(({ spending }) => spending.spent(caller, windows)),
      all: (windows) => use(({ spending }) => spending.all(windows)),
      reserve: (caller, amount, windows) => use(({ spending }) => spending.reserve(caller, amount, windows)),
    },
  };
}

function watchLazily(use: WithApprovals, onChange: (id?: string) => void): () => void {
  const ended = new AbortController();
  void use(async ({ approvals }) => {
    if (!ended.signal.aborted) ended.signal.addEventListener('abort', approvals.watch(onChange), { once: true });
  });
  return () => ended.abort();
}
