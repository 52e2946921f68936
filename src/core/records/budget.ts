/** The calendar windows of budgets, in UTC. */
export type BudgetPeriod = 'hour' | 'day' | 'month';

/** The budget of one caller in the current window of a period. */
export interface BudgetStatus {
  readonly caller: string;
  readonly period: BudgetPeriod;
  /** In units of `costPerCall`. */
  readonly spent: number;
  readonly limit: number;
  /** Never negative. */
  readonly left: number;
  /** The end of the window, in milliseconds since the epoch. */
  readonly resetsAt: number;
}
