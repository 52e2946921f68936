import type { JsonObject } from '../core/call.ts';

const acts: JsonObject[] = [];

/** Notes a change that a command has made outside of Heddle's store. `main` writes the audit record. */
export const noteAct = (act: JsonObject): void => {
  acts.push(act);
};

/** Returns the changes that were noted since the last time. */
export const takeActs = (): readonly JsonObject[] => acts.splice(0);
