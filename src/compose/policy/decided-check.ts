import type { Settings } from '../../config/schema/schema.ts';
import type { Caller, CallKind, Decision, Target } from '../../core/call.ts';
import type { Clock } from '../../core/time.ts';
import type { Sent } from '../../govern/sensitive.ts';
import type { Heddle } from '../../heddle.ts';
import type { ApiKeyBook } from '../../store/api-key-book.ts';
import type { StandingBook } from '../../store/approvals/standing-book.ts';
import type { PermissionOptions } from './entry-permissions.ts';

export interface PolicyCheckOptions extends PermissionOptions {
  readonly keys: ApiKeyBook;
  readonly settings: () => Settings;
  readonly standing: Pick<StandingBook, 'all'>;
  readonly describe: Heddle['catalog']['describe'];
  readonly clock: Clock;
}

/** The decision on a call that is not made. */
export interface DecidedCheck {
  readonly caller: Caller;
  readonly target: Target;
  readonly kind: CallKind;
  readonly sent: Sent;
  readonly decision: Decision;
}
