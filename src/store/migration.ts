import { HeddleError } from '../core/errors.ts';

/** One step of a schema: its statements, in order. A published one is never edited; the next one follows it. */
export type Migration = readonly string[];

/** Stops an older Heddle from writing into tables it does not know. */
export function refuseNewer(place: string, found: number, known: number): void {
  if (found <= known) return;
  throw new HeddleError(
    'STORE_UNAVAILABLE',
    `The store at ${place} was written by a newer Heddle: its schema is version ${found}, this one knows ${known}.`,
    { fix: 'Use that newer Heddle, or set `store` to another place.' },
  );
}
