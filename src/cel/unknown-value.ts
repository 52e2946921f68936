/** A value that was redacted or cut. A condition that needs it has no result. */
export const unknownValue: object = Object.freeze({});

/** The error of a condition that reads an unknown value. */
export const dependsOnUnknown = new Error('it depends on a value that was not recorded');
