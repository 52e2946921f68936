/** The error of a computation whose result would be wrong. Its message has no value of the call or run. */
export class ComputationFailure extends RangeError {}

// Made once each: `exists` and `all` ignore errors, so that one per item would be made, each with its stack.
export const ROUNDED = Object.freeze(new ComputationFailure('it would round an integer over 2^53'));
export const DIVIDED_BY_ZERO = Object.freeze(new ComputationFailure('it divides by zero'));
export const OVER_64_BITS = Object.freeze(new ComputationFailure('its result is an integer of more than 64 bits'));
export const NOT_A_NUMBER = Object.freeze(new ComputationFailure('it compares a result that is not a number'));
export const NO_SUCH_INTEGER = Object.freeze(
  new ComputationFailure('it converts a value that is no integer of 64 bits'),
);
export const NO_SUCH_DOUBLE = Object.freeze(new ComputationFailure('it converts a text that is no finite number'));
export const NO_SUCH_TEXT = Object.freeze(new ComputationFailure('it converts bytes that are no UTF-8'));
export const KEY_REPEATED = Object.freeze(new ComputationFailure('it writes a key of a map twice'));
export const NO_SUCH_KEY = Object.freeze(new ComputationFailure('a key of a map is neither text nor integer nor bool'));
export const NO_SUCH_TIME = Object.freeze(new ComputationFailure('it converts a text that is no time'));
export const NO_SUCH_DURATION = Object.freeze(new ComputationFailure('it converts a text that is no duration'));
export const FRACTION_ROUNDED = Object.freeze(
  new ComputationFailure('it reads a fraction over 2^53, which would be rounded'),
);
