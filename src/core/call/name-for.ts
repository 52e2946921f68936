import type { ResolvedCall } from '../call.ts';

/**
 * Returns the name of a call's target for messages to its caller. A profile may have names of its own, so its callers
 * read the name that they wrote; all others read the public name.
 */
export const nameFor = ({ caller, name, target }: ResolvedCall): string =>
  caller.profile === undefined ? target.publicName : name;
