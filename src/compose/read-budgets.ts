import { requireRole } from '../core/call/caller.ts';
import type { Caller } from '../core/call.ts';
import type { BudgetStatus } from '../core/records/budget.ts';
import type { Clock } from '../core/time.ts';
import { BUDGET_PERIODS, budgetPrincipal, limitsFor, windowAt, windowsAt } from '../govern/limits/budget-windows.ts';
import type { SpendingBook } from '../store/approvals/spending-book.ts';
import type { ActiveConfig } from './active-config.ts';

export interface ReadBudgetsOptions {
  readonly active: () => Pick<ActiveConfig, 'config'>;
  readonly store: { readonly spending: SpendingBook };
  readonly wallClock: Clock;
}

/** Returns the budgets of callers that have their own or have spent something, by caller and from hour to month. */
export async function readBudgets(options: ReadBudgetsOptions, by: Caller): Promise<readonly BudgetStatus[]> {
  requireRole(by, ['owner', 'operator', 'auditor']);
  const { active, store, wallClock } = options;
  const settings = active().config.settings.budgets;
  const now = wallClock();
  const spent = await store.spending.all(BUDGET_PERIODS.map((period) => windowAt(period, now)));
  const callers = new Set([
    ...Object.keys(settings.callers).map(budgetPrincipal),
    ...spent.map(({ caller }) => caller),
  ]);
  return [...callers].toSorted().flatMap((caller) => {
    const windows = windowsAt(limitsFor(settings, caller) ?? {}, now);
    return windows.map(({ period, window, limit, resetsAt }) => {
      const amount = spent.find((one) => one.caller === caller && one.window === window)?.amount ?? 0;
      return { caller, period, spent: amount, limit, left: Math.max(0, limit - amount), resetsAt };
    });
  });
}
