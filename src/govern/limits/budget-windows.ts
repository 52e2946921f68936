import type { Settings } from '../../config/schema/schema.ts';
import { isNamedByProgram } from '../../core/call/caller.ts';
import { OWNER_PRINCIPAL, vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { BudgetPeriod, BudgetStatus } from '../../core/records/budget.ts';
import type { Clock } from '../../core/time.ts';
import type { SpendingBook, SpendingLimit } from '../../store/approvals/spending-book.ts';

export type BudgetSettings = Settings['budgets'];
export type BudgetLimits = NonNullable<BudgetSettings['perCaller']>;

export interface BudgetOptions {
  readonly settings: () => BudgetSettings;
  readonly spending: SpendingBook;
  /** Wall time: the windows are calendar windows. */
  readonly clock: Clock;
  /** Reports that a call took a caller to `warnAt` of its budget. */
  readonly onWarning: (status: BudgetStatus) => void;
}

/** The budget of a caller in one calendar window. */
export interface BudgetWindow extends SpendingLimit {
  readonly period: BudgetPeriod;
  /** The end of the window, in milliseconds since the epoch. */
  readonly resetsAt: number;
}

/** By period: the length of its text in an ISO time. */
const TEXT_LENGTH: Readonly<Record<BudgetPeriod, number>> = { hour: 13, day: 10, month: 7 };
export const BUDGET_PERIODS = Object.keys(TEXT_LENGTH) as readonly BudgetPeriod[];

/** Returns the principal of a name in `budgets.callers`. The user of this machine has one budget under all names. */
export const budgetPrincipal = (name: string): string => vaultPrincipal({ id: name, roles: ['owner'] });

/** Returns the budget of a principal: its own, else the one of each caller. An agent has only its own. */
export function limitsFor({ perCaller, callers }: BudgetSettings, principal: string): BudgetLimits | undefined {
  if (Object.hasOwn(callers, principal)) return callers[principal];
  if (principal !== OWNER_PRINCIPAL) return isNamedByProgram(principal) ? undefined : perCaller;
  const own = Object.keys(callers).find((name) => budgetPrincipal(name) === OWNER_PRINCIPAL);
  return own === undefined ? perCaller : callers[own];
}

/** Returns the name of the window in which a time is, in UTC. */
export const windowAt = (period: BudgetPeriod, now: number): string =>
  `${period} ${new Date(now).toISOString().slice(0, TEXT_LENGTH[period])}`;

/** Returns the limited windows in which a time is. */
export function windowsAt(limits: BudgetLimits, now: number): readonly BudgetWindow[] {
  return BUDGET_PERIODS.flatMap((period) => {
    const limit = limits[period];
    return limit === undefined ? [] : [{ period, window: windowAt(period, now), limit, resetsAt: endOf(period, now) }];
  });
}

/** Returns the first millisecond after the window. */
export function endOf(period: BudgetPeriod, now: number): number {
  const at = new Date(now);
  const [year, month, day, hour] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), at.getUTCHours()];
  if (period === 'month') return Date.UTC(year, month + 1);
  return period === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month, day, hour + 1);
}
