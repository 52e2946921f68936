import { hash } from 'node:crypto';

/** The parts of a call that give it its id. `send` counts the times that a call in doubt was sent again. */
export interface CallPlace {
  readonly run: string;
  readonly path: string;
  readonly attempt: number;
  readonly send: number;
}

/** Returns the id of a call: a UUID of version 8, the same after a crash. */
export function callIdOf({ run, path, attempt, send }: CallPlace): string {
  const hex = hash('sha256', JSON.stringify([run, path, attempt, send]));
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Returns the idempotency key of a step, which is the same for all attempts. */
export const idempotencyKeyOf = (run: string, path: string): string =>
  hash('sha256', JSON.stringify([run, path]), 'base64url');
