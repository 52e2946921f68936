import { callerName } from '../../core/call/caller.ts';
import { isRepeatable } from '../../core/call/repeatable.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller, Handler, ResolvedCall, Result } from '../../core/call.ts';
import type { ErrorCode } from '../../core/error-codes.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Spending } from '../../store/approvals/spending-book.ts';
import { type BudgetOptions, type BudgetWindow, limitsFor, windowsAt } from './budget-windows.ts';

export interface Budgets {
  run(call: ResolvedCall, cost: number, next: Handler<ResolvedCall>): Promise<Result>;
}

/** The cost of one call that is reserved for a principal. */
interface Reservation {
  readonly principal: string;
  readonly cost: number;
  readonly windows: readonly BudgetWindow[];
}

/** Opens the budgets. Calls that have not written their cost yet count in this process only. */
export function openBudgets(options: BudgetOptions): Budgets {
  const { spending, clock } = options;
  const reserved = new Map<string, number>();

  function hold(principal: string, cost: number): void {
    const sum = (reserved.get(principal) ?? 0) + cost;
    if (sum > 0) reserved.set(principal, sum);
    else reserved.delete(principal);
  }

  async function admit({ principal, cost, windows }: Reservation): Promise<void> {
    const names = windows.map(({ window }) => window);
    const spent = await spending.spent(principal, names);
    const pending = reserved.get(principal) ?? 0;
    const over = windows.find((window) => amountIn(spent, window) + pending + cost > window.limit * ROUNDING);
    if (over) throw exceeded({ principal, cost, windows }, over, amountIn(spent, over), clock());
  }

  /** Writes the cost unless another process has used up the budget meanwhile. */
  async function charge(reservation: Reservation): Promise<void> {
    const { principal, cost, windows } = reservation;
    const { refusedBy, spent } = await spending.reserve(principal, cost, windows);
    const over = windows.find(({ window }) => window === refusedBy);
    if (over) throw exceeded(reservation, over, amountIn(spent, over), clock());
    for (const window of windows) warnIfReached(options, { principal, cost, window, spent: amountIn(spent, window) });
  }

  /** A release that cannot be written leaves the cost spent: a budget is never exceeded by a failure. */
  async function release({ principal, cost, windows }: Reservation): Promise<void> {
    await spending.reserve(principal, -cost, windows).catch(() => undefined);
  }

  /** Runs a call within one budget. `call.charge` is that of the program whose agent makes the call. */
  async function within(reservation: Reservation, call: ResolvedCall, next: Handler<ResolvedCall>): Promise<Result> {
    const { principal, cost } = reservation;
    await admit(reservation);
    let isHeld = true;
    let isCharged = false;
    const drop = () => {
      if (isHeld) hold(principal, -cost);
      isHeld = false;
    };
    hold(principal, cost);
    const charged = async () => {
      if (isCharged) return; // A hook may continue the call several times.
      await call.charge?.();
      await charge(reservation);
      isCharged = true;
      drop();
    };
    try {
      const result = await next({ ...call, charge: charged });
      if (isCharged && isUnused(result)) await release(reservation);
      return result;
    } catch (thrown) {
      if (isCharged && isUndelivered(call, thrown)) await release(reservation);
      throw thrown;
    } finally {
      drop();
    }
  }

  return {
    run: (call, cost, next) =>
      budgetsOf(call.caller, options).reduceRight<Handler<ResolvedCall>>(
        (inner, budget) => (sent) => within({ ...budget, cost }, sent, inner),
        next,
      )(call),
  };
}

interface Charged extends Pick<Reservation, 'principal' | 'cost'> {
  readonly window: BudgetWindow;
  /** The sum after the call. */
  readonly spent: number;
}

function warnIfReached(
  { settings, onWarning }: BudgetOptions,
  { principal: caller, cost, window, spent }: Charged,
): void {
  const { period, limit, resetsAt } = window;
  const from = settings().warnAt * limit;
  if (spent < from || spent - cost >= from) return;
  onWarning({ caller, period, spent, limit, left: Math.max(0, limit - spent), resetsAt });
}

/** Returns the budgets that a call uses: that of the program comes before that of its agent. */
function budgetsOf(caller: Caller, { settings, clock }: BudgetOptions): readonly Omit<Reservation, 'cost'>[] {
  const names = [vaultPrincipal(caller), ...(caller.agent === undefined ? [] : [callerName(caller)])];
  const all = names.map((principal) => ({
    principal,
    windows: windowsAt(limitsFor(settings(), principal) ?? {}, clock()),
  }));
  return all.filter(({ windows }) => windows.length > 0);
}

/** Sums of decimal fractions are off by less. */
const ROUNDING = 1 + 1e-9;

const amountIn = (spent: readonly Spending[], { window }: BudgetWindow): number =>
  spent.find((one) => one.window === window)?.amount ?? 0;

/** Errors after the opening record that arise before a server gets the call. */
const UNSENT: ReadonlySet<ErrorCode> = new Set([
  ...(['AUDIT_UNAVAILABLE', 'RATE_LIMITED', 'SERVER_UNTRUSTED', 'SERVER_DISABLED', 'SERVER_BLOCKED'] as const),
  ...(['CONFIG_INVALID', 'VARIABLE_UNSET', 'TRANSPORT_UNSUPPORTED', 'SANDBOX_UNAVAILABLE'] as const),
  'BUDGET_EXCEEDED', // The program has paid, and another process has used up the budget of its agent.
]);

/** Returns true for a result of the read cache. */
const isUnused = (result: Result) => result.kind === 'complete' && result.provenance.cached === true;

/** Returns true if certainly no server did anything. An earlier server of a pool may have run a repeatable call. */
function isUndelivered(call: ResolvedCall, thrown: unknown): boolean {
  if (thrown instanceof UpstreamError) {
    return thrown.delivered === 'no' && (call.target.servers.length === 1 || !isRepeatable(call));
  }
  return HeddleError.is(thrown) && UNSENT.has(thrown.code);
}

function exceeded({ principal, cost }: Reservation, over: BudgetWindow, spent: number, now: number): HeddleError {
  const { period, limit, resetsAt } = over;
  const at = new Date(resetsAt).toISOString();
  const message = `The budget of ${principal} for this ${period} does not cover the call: it costs ${cost}, and ${rounded(spent)} of ${limit} units are spent.`;
  return new HeddleError('BUDGET_EXCEEDED', message, {
    fix:
      cost > limit * ROUNDING
        ? `Raise the budget for the ${period} in \`budgets\`: this call costs more than all of it.`
        : `Call again after ${at}, or raise the budget for the ${period} in \`budgets\`.`,
    details: { period, cost, spent, limit, resetsAt: at, retryAfterMs: Math.max(0, resetsAt - now) },
  });
}

const rounded = (amount: number) => Number(amount.toPrecision(12));
