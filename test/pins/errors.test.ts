import { expect } from 'vitest';
import { ERRORS } from '../../src/core/error-codes.ts';
import { verifies } from '../requirements.ts';

// Scripts rely on every line of this: a change here is a change of the interface, and goes into CHANGELOG.md.
const PINNED = {
  USAGE_INVALID: ['caller', 2],
  NAME_UNKNOWN: ['caller', 2],
  NAME_AMBIGUOUS: ['caller', 2],
  NAME_TAKEN: ['caller', 2],
  INPUT_INVALID: ['caller', 2],
  CONFIG_INVALID: ['caller', 3],
  VARIABLE_UNSET: ['caller', 3],
  TRANSPORT_UNSUPPORTED: ['caller', 3],
  SANDBOX_UNAVAILABLE: ['caller', 3],
  DRIVER_MISSING: ['caller', 3],
  WORKFLOW_INVALID: ['caller', 3],
  RUN_FAILED: ['upstream', 1],
  RUN_IN_DOUBT: ['upstream', 9],
  RUN_OWNED: ['caller', 2],
  RUN_LEASE_LOST: ['internal', 70],
  RUN_TOO_NEW: ['caller', 2],
  EXPRESSION_FAILED: ['caller', 2],
  CODE_FAILED: ['caller', 1],
  CODE_LIMIT_EXCEEDED: ['caller', 1],
  SERVER_UNTRUSTED: ['caller', 3],
  SERVER_DISABLED: ['caller', 3],
  AUTH_NEEDED: ['upstream', 4],
  AUTH_REFUSED: ['upstream', 4],
  PERMISSION_DENIED: ['denied', 5],
  SERVER_BLOCKED: ['denied', 5],
  RATE_LIMITED: ['denied', 5],
  AUDIT_UNAVAILABLE: ['denied', 5],
  BUDGET_EXCEEDED: ['denied', 5],
  APPROVAL_REQUIRED: ['denied', 5],
  APPROVAL_PENDING: ['denied', 6],
  APPROVAL_REJECTED: ['denied', 5],
  APPROVAL_TIMED_OUT: ['denied', 5],
  APPROVAL_SETTLED: ['caller', 2],
  UPSTREAM_TIMEOUT: ['upstream', 7],
  UPSTREAM_UNREACHABLE: ['upstream', 8],
  UPSTREAM_FAILED: ['upstream', 8],
  UPSTREAM_REFUSED: ['upstream', 1],
  TOOL_INVALID: ['upstream', 8],
  OUTCOME_UNKNOWN: ['upstream', 9],
  CALL_CANCELLED: ['caller', 130],
  STORE_UNAVAILABLE: ['internal', 70],
  INTERNAL: ['internal', 70],
};

verifies('L4', 'each error code has the fault and the exit code that scripts rely on', () => {
  const table = Object.fromEntries(Object.entries(ERRORS).map(([code, { fault, exit }]) => [code, [fault, exit]]));
  expect(table).toEqual(PINNED);
});
