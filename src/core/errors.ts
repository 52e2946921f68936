import type { JsonObject } from './call.ts';
import { ERRORS, type ErrorCode, type Fault } from './error-codes.ts';

interface HeddleErrorOptions {
  /** A single imperative sentence; defaults to the fix of the code. */
  readonly fix?: string;
  /** Facts for logs and programs. Never secrets, never tool output. */
  readonly details?: JsonObject;
  readonly cause?: unknown;
}

// Symbol.for, not instanceof: two copies of heddle in one node_modules still agree.
const BRAND = Symbol.for('heddle.error');

export class HeddleError extends Error {
  readonly [BRAND] = true;
  readonly code: ErrorCode;
  readonly fix: string;
  readonly details: JsonObject;

  constructor(code: ErrorCode, message: string, options: HeddleErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'HeddleError';
    this.code = code;
    this.fix = options.fix ?? ERRORS[code].fix;
    this.details = options.details ?? {};
  }

  get fault(): Fault {
    return ERRORS[this.code].fault;
  }

  static is(value: unknown): value is HeddleError {
    return typeof value === 'object' && value !== null && BRAND in value;
  }

  /** Converts any thrown value; only front ends and records call it. An unknown value becomes INTERNAL. */
  static from(thrown: unknown): HeddleError {
    if (HeddleError.is(thrown)) return thrown;
    return new HeddleError('INTERNAL', 'Heddle failed while handling this call.', { cause: thrown });
  }
}

type UpstreamCode = Extract<ErrorCode, `UPSTREAM_${string}` | 'AUTH_NEEDED'>;

/** A failure of a server. `delivered` tells whether the call may have reached it, so whether failover is safe. */
export class UpstreamError extends HeddleError {
  readonly delivered: 'no' | 'maybe';

  constructor(
    code: UpstreamCode,
    message: string,
    options: HeddleErrorOptions & { readonly delivered: 'no' | 'maybe' },
  ) {
    super(code, message, options);
    this.delivered = options.delivered;
  }
}

/** Returns an error with the server that a call tried and the time that took. Details that it has already stay. */
export function triedAt(thrown: unknown, server: string | undefined, latencyMs: number): unknown {
  if (!HeddleError.is(thrown)) return thrown;
  const { message, fix, cause } = thrown;
  const options = { fix, cause, details: { server, latencyMs, ...thrown.details } };
  // A copy: one error may be thrown for several calls.
  const copy =
    thrown instanceof UpstreamError
      ? new UpstreamError(thrown.code as UpstreamCode, message, { ...options, delivered: thrown.delivered })
      : new HeddleError(thrown.code, message, options);
  if (thrown.stack !== undefined) copy.stack = thrown.stack;
  return copy;
}
