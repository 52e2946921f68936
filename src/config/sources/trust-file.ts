import { join } from 'node:path';

/** Where what the user has agreed to is kept. */
export const trustFile = (home: string): string => join(home, 'trust.json');
