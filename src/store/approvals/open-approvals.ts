import type { Timer } from '../../core/time.ts';
import type { ApprovalBox } from '../approval-box.ts';
import { changeWatch } from '../change-watch.ts';
import type { Statements } from '../statements.ts';
import { approvalBox } from './approval-rows.ts';
import { readChanges } from './approval-tables.ts';
import type { CallBook } from './call-book.ts';
import { callBook } from './call-rows.ts';
import type { SpendingBook } from './spending-book.ts';
import { spendingBook } from './spending-rows.ts';
import type { StandingBook } from './standing-book.ts';
import { standingBook } from './standing-rows.ts';

/** The parts of a store for approvals and budgets. */
export interface ApprovalParts {
  readonly approvals: ApprovalBox;
  readonly approvalCalls: CallBook;
  readonly standing: StandingBook;
  readonly spending: SpendingBook;
}

/** The same, opened. Closing ends all watchers. */
export interface OpenedApprovals extends ApprovalParts {
  close(): void;
}

/** Keeps the process alive: a call that waits for an approval has nothing else that does. */
const waitingTimer: Timer = (delayMs, callback) => {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
};

/** Makes the parts for approvals and budgets. Nothing is read until one is used. */
export function openApprovals(statements: Statements, timer: Timer = waitingTimer): OpenedApprovals {
  const watch = changeWatch({ statements, readChanges, timer });
  return {
    approvals: approvalBox(statements, watch),
    approvalCalls: callBook(statements),
    standing: standingBook(statements),
    spending: spendingBook(statements),
    close: () => watch.close(),
  };
}
