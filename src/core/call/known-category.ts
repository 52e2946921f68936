import type { Facts } from './facts.ts';

/** Returns the category that rules and profiles see. A claim of an untrusted server is none. */
export const knownCategory = ({ category, isCategoryClaimed }: Facts): string =>
  isCategoryClaimed ? 'uncategorized' : category;
