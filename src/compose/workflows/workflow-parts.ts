import type { Handler } from '../../core/call.ts';
import type { Heddle } from '../../heddle.ts';
import type { PreparedApprovals } from '../approvals/prepare-approvals.ts';
import type { RunningParts } from '../running-parts.ts';

/** The parts of an open Heddle that workflows use. */
export interface WorkflowParts extends RunningParts {
  readonly dispatch: Handler;
  readonly browse: Heddle['catalog'];
  readonly approvals: Pick<PreparedApprovals, 'flow' | 'api'>;
  /** Aborts when Heddle closes. */
  readonly closing: AbortSignal;
}
