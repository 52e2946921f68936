import type { JsonObject } from '../core/call.ts';
import type { Offers } from '../heddle.ts';

const CHANGING = { listChanged: true };

/** What clients are told they can ask for: tools, what servers log, and what else some server has. */
export const toCapabilities = ({ resources, subscribe, prompts, completions }: Offers): JsonObject => ({
  tools: CHANGING,
  ...(resources && { resources: subscribe ? { subscribe: true, ...CHANGING } : CHANGING }),
  ...(prompts && { prompts: CHANGING }),
  ...(completions && { completions: {} }),
  logging: {},
});
