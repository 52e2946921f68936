import { HeddleError } from '../../core/errors.ts';

const CODES: readonly string[] = ['RUN_LEASE_LOST', 'STORE_UNAVAILABLE', 'AUDIT_UNAVAILABLE'];

/** Tests whether the store has refused an operation. Such an error is not the end of a step: a later execution goes on. */
export const isStoreFailure = (thrown: unknown): boolean => HeddleError.is(thrown) && CODES.includes(thrown.code);
