import { hash } from 'node:crypto';

const UUID = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/;

/** The parts of a call that give it its id. `send` counts the times that a call in doubt was sent again. */
export interface CallPlace {
  readonly run: string;
  readonly path: string;
  readonly attempt: number;
  readonly send: number;
}

/** Returns the id of a call: a UUID of version 8, the same after a crash. */
export const callIdOf = ({ run, path, attempt, send }: CallPlace): string =>
  hash('sha256', JSON.stringify([run, path, attempt, send]))
    .replace(UUID, '$1-$2-8$3-8$4-$5')
    .slice(0, 36);

/** Returns the idempotency key of a step, which is the same for all attempts. */
export const idempotencyKeyOf = (run: string, path: string): string =>
  hash('sha256', JSON.stringify([run, path]), 'base64url');

/** The `_meta` key of the idempotency key. */
export const IDEMPOTENCY_META = 'dev.heddle/idempotencyKey';
