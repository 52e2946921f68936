import { join } from 'node:path';

/** Returns the path of the file with the user's trust decisions. */
export const trustFile = (home: string): string => join(home, 'trust.json');
