import { storable } from '../rows.ts';
import { type RawSql, type SqlRow, type SqlStatement, type Statements, sql } from '../statements.ts';
import { approvalTable } from './approval-tables.ts';
import type { Spending, SpendingBook, SpendingLimit } from './spending-book.ts';

/** Sums of decimal fractions are off by less: three calls of 0.1 fit a budget of 0.3. */
const ROUNDING = 1 + 1e-9;
const DAY_MS = 86_400_000;

/** Spending in the table `spending`. */
export function spendingBook(statements: Statements): SpendingBook {
  const table = approvalTable(statements, 'spending');
  return {
    async spent(caller, windows) {
      if (windows.length === 0) return [];
      return toSpending(await statements.read(amountsOf(table, windows, storable(caller))));
    },
    async all(windows) {
      if (windows.length === 0) return [];
      return toSpending(await statements.read(amountsOf(table, windows)));
    },
    async reserve(caller, amount, windows) {
      const names = windows.map(({ window }) => window);
      if (names.length === 0) return { spent: [] };
      const key = storable(caller);
      const results = await statements.write([
        // The row without a period is the lock of this caller: two transactions never wait for each other.
        sql`INSERT INTO ${table} (caller, period, amount) VALUES (${key}, '', 0)
          ON CONFLICT (caller, period) DO UPDATE SET amount = 0`,
        ...names.flatMap((name) => forgetBefore(table, key, name)),
        ...(amount > 0 ? names.map((name) => makeRow(table, key, name)) : []),
        addUnlessOver(table, { caller: key, amount, windows }),
        amountsOf(table, names, key),
      ]);
      const [added = [], after = []] = results.slice(-2);
      const spent = toSpending(after);
      if (amount <= 0 || added.length > 0) return { spent };
      const over = windows.find(({ window, limit }) => amountIn(spent, window) > limit * ROUNDING - amount);
      return { refusedBy: over?.window ?? names[0] ?? '', spent };
    },
  };
}

const amountIn = (spent: readonly Spending[], window: string): number =>
  spent.find((one) => one.window === window)?.amount ?? 0;

const makeRow = (table: RawSql, caller: string, window: string): SqlStatement =>
  sql`INSERT INTO ${table} (caller, period, amount) VALUES (${caller}, ${window}, 0)
    ON CONFLICT (caller, period) DO NOTHING`;

interface Addition {
  readonly caller: string;
  readonly amount: number;
  readonly windows: readonly SpendingLimit[];
}

/** Adds to all windows or to none. A release is never refused, and no amount becomes negative. */
function addUnlessOver(table: RawSql, { caller, amount, windows }: Addition): SqlStatement {
  const names = windows.map(({ window }) => window);
  const over = windows.map(({ window, limit }) => sql`(period = ${window} AND amount > ${limit * ROUNDING - amount})`);
  const update = sql`UPDATE ${table}
    SET amount = CASE WHEN amount > ${-amount} THEN amount + ${amount} ELSE 0 END
    WHERE caller = ${caller} AND `;
  const isWindow = isOneOf(names);
  if (amount <= 0) return joined(update, isWindow, RETURNING);
  const exceeds = over.flatMap((one, at) => (at === 0 ? [one] : [OR, one]));
  return joined(
    update,
    isWindow,
    sql` AND NOT EXISTS (SELECT 1 FROM ${table} WHERE caller = ${caller} AND (`,
    ...exceeds,
    sql`))`,
    RETURNING,
  );
}

const OR = sql` OR `;
const RETURNING = sql` RETURNING period`;

function amountsOf(table: RawSql, windows: readonly string[], caller?: string): SqlStatement {
  const select = sql`SELECT caller, period, amount FROM ${table} WHERE `;
  const isCaller = caller === undefined ? sql`` : sql`caller = ${caller} AND `;
  return joined(select, isCaller, isOneOf(windows));
}

function isOneOf(windows: readonly string[]): SqlStatement {
  return { sql: `period IN (${windows.map(() => '?').join(', ')})`, values: windows };
}

function joined(...parts: readonly SqlStatement[]): SqlStatement {
  return { sql: parts.map((part) => part.sql).join(''), values: parts.flatMap((part) => part.values) };
}

/** Removes windows that are over. Two days of hours and two months of days stay, for a clock that is set back. */
function forgetBefore(table: RawSql, caller: string, window: string): readonly SqlStatement[] {
  const [kind = '', start = ''] = window.split(' ');
  const [keptDays, length] = kind === 'hour' ? [2, 13] : [62, 10];
  const at = Date.parse(kind === 'hour' ? `${start}:00Z` : start);
  if (kind === 'month' || !Number.isFinite(at)) return [];
  const first = `${kind} ${new Date(at - keptDays * DAY_MS).toISOString().slice(0, length)}`;
  return [sql`DELETE FROM ${table} WHERE caller = ${caller} AND period >= ${`${kind} `} AND period < ${first}`];
}

function toSpending(rows: readonly SqlRow[]): readonly Spending[] {
  const all = rows.map(({ caller, period, amount }) => ({
    caller: String(caller),
    window: String(period),
    amount: Number(amount),
  }));
  return all.toSorted((a, b) => (`${a.caller}\0${a.window}` < `${b.caller}\0${b.window}` ? -1 : 1));
}
