import type { Continuation } from '../call.ts';

/** Returns the server that has an unfinished call; undefined if it waits for an approval. */
export const serverOf = (continuation: Continuation | undefined): string | undefined =>
  continuation === undefined || continuation.kind === 'approval' ? undefined : continuation.server;
