import { homeFolder } from '../files/home-folder.ts';
import { makeFolder } from '../files/make-folder.ts';
import type { OpenApprovalFlow } from '../govern/approve.ts';
import { type CurrentHooks, currentHooks } from '../govern/hooks/hooks.ts';
import type { Taints } from '../govern/policy/taints.ts';
import type { StoredApproval } from '../store/approval-box.ts';
import type { RunningParts } from './running-parts.ts';

type PartsOfHooks = Pick<RunningParts, 'active' | 'store' | 'watchdog' | 'env' | 'wallClock' | 'options'>;

/** Returns the hooks in force: those of the configuration, and the functions of the embedding program. */
export function hooksOf(
  { active, store, watchdog, env, wallClock, options }: PartsOfHooks,
  { openFlow, taints }: { readonly openFlow: OpenApprovalFlow; readonly taints?: Taints },
): CurrentHooks {
  // Not the project: a hook of the user must not run the code of a project by a relative path.
  const home = homeFolder(env);
  const cwd = () => {
    makeFolder(home, 0o700);
    return home;
  };
  const parts = { audit: store.audit, watchdog, env, cwd, clock: wallClock, openFlow, ...(taints && { taints }) };
  return currentHooks(() => active().config.settings, options.hooks ?? {}, parts);
}

/** Runs the hooks `onApproval` in the order of the changes. */
export interface ApprovalObserver {
  /** Returns true if there is such a hook. */
  hasHooks(): boolean;
  observe(approval: StoredApproval): void;
  /** Waits for the hooks that still run or wait, 5 s in all. */
  close(): Promise<void>;
}

const CLOSE_MS = 5000;
/** Changes that wait for the hooks of earlier ones. More are dropped: a hook that hangs must not fill the memory. */
const MAX_WAITING = 1000;

/** Opens the observer of approvals. Its code is loaded with the first change, if there is such a hook. */
export function approvalObserver(
  parts: PartsOfHooks,
  openFlow: OpenApprovalFlow,
  { closeMs = CLOSE_MS }: { readonly closeMs?: number } = {},
): ApprovalObserver {
  const current = hooksOf(parts, { openFlow });
  const ended = new AbortController();
  let last = Promise.resolve();
  let waiting = 0;
  const inForce = () => {
    const configured = current();
    return configured && (configured.hooks.onApproval.length > 0 || configured.functions.onApproval)
      ? configured
      : undefined;
  };
  return {
    hasHooks: () => inForce() !== undefined,
    observe(approval) {
      const configured = inForce();
      if (!configured) return;
      if (waiting >= MAX_WAITING) return;
      waiting++;
      last = last.then(async () => {
        waiting--;
        if (ended.signal.aborted) return;
        const { observeApproval } = await import('../govern/hooks/observe-approval.ts');
        await observeApproval(configured, approval, ended.signal);
      });
    },
    async close() {
      const timer = setTimeout(() => ended.abort(), closeMs);
      await last;
      clearTimeout(timer);
    },
  };
}
