import type { Stats } from 'node:fs';

/** Returns a key that all names of a file or directory share, also those of a bind mount. */
export const fileIdentity = ({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string => `${dev}:${ino}`;
