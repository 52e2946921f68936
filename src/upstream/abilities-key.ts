import type { Abilities } from '../core/call.ts';

export const NO_ABILITIES: Abilities = {
  form: false,
  url: false,
  sampling: false,
  samplingTools: false,
  roots: false,
};

/** One number for one set of abilities; 0 for none. */
export function abilitiesKey(can: Abilities | undefined): number {
  if (!can) return 0;
  return (
    (can.form ? 1 : 0) | (can.url ? 2 : 0) | (can.sampling ? 4 : 0) | (can.samplingTools ? 8 : 0) | (can.roots ? 16 : 0)
  );
}
