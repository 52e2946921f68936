import { mkdirSync } from 'node:fs';
import { homeFolder } from '../files/home-folder.ts';
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
    mkdirSync(home, { recursive: true, mode: 0o700 });
    return home;
  };
  const parts = { audit: store.audit, watchdog, env, cwd, clock: wallClock, openFlow, ...(taints && { taints }) };
  return currentHooks(() => active().config.settings, options.hooks ?? {}, parts);
}

/** Runs the hooks `onApproval` in the order of the changes. */
export interface ApprovalObserver {
  observe(approval: StoredApproval): void;
  /** Waits for the hooks that still run. */
  close(): Promise<void>;
}

/** Opens the observer of approvals. Its code is loaded with the first change, if there is such a hook. */
export function approvalObserver(parts: PartsOfHooks, openFlow: OpenApprovalFlow): ApprovalObserver {
  const current = hooksOf(parts, { openFlow });
  let last = Promise.resolve();
  return {
    observe(approval) {
      const configured = current();
      if (!configured || (configured.hooks.onApproval.length === 0 && !configured.functions.onApproval)) return;
      last = last.then(async () => {
        const { observeApproval } = await import('../govern/hooks/observe-approval.ts');
        await observeApproval(configured, approval);
      });
    },
    close: () => last,
  };
}
