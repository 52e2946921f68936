import type { Abilities } from '../core/call.ts';

export const NO_ABILITIES: Abilities = {
  form: false,
  url: false,
  sampling: false,
  samplingTools: false,
  roots: false,
};
