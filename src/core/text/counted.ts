/** Writes a count with its noun: `1 record`, `2 records`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Returns the verb that agrees with a count. */
export const isOrAre = (count: number): 'is' | 'are' => (count === 1 ? 'is' : 'are');
