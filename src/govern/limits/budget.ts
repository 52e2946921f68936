import type { ResolvedCall, Stage } from '../../core/call.ts';
import type { BudgetOptions, BudgetSettings } from './budget-windows.ts';
import type { Budgets } from './budgets.ts';

/**
 * Reserves the cost of a call in the budget of its caller. The cost is written with the opening record. It is released
 * if no server did anything. Calls without a cost pass at once.
 */
export function budget(options: BudgetOptions | undefined): Stage<ResolvedCall> {
  let budgets: Promise<Budgets> | undefined;
  return function budget(call, next) {
    const { costPerCall: cost, paidBySteps } = call.target.facts;
    if (!cost || !options || paidBySteps || !isFirstDispatch(call) || !isLimited(options.settings())) return next(call);
    budgets ??= import('./budgets.ts').then(({ openBudgets }) => openBudgets(options));
    return budgets.then(({ run }) => run(call, cost, next));
  };
}

/** Returns false for a continuation at a server, which was paid when the call began. No server has an approved call. */
function isFirstDispatch({ continuation }: ResolvedCall): boolean {
  if (!continuation || continuation.kind === 'approval') return true;
  return continuation.kind === 'upstream' && continuation.again === true;
}

const isLimited = ({ perCaller, callers }: BudgetSettings) =>
  perCaller !== undefined || Object.keys(callers).length > 0;
