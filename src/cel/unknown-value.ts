import type { RawNumber } from '../core/exact-numbers.ts';

/** A value that was redacted or cut. A condition that needs it has no result. */
export const unknownValue: object = Object.freeze({});

/** The error of a condition that reads an unknown value. */
export const dependsOnUnknown = new Error('it depends on a value that was not recorded');

/** A number that an evaluation would round. A condition that needs it has no result. */
export const roundedNumber: RawNumber = Object.freeze({ rawJSON: '' });
