import { HeddleError } from '../core/errors.ts';

/** The statements of one schema version, in order. A published version is never edited. */
export type Migration = readonly string[];

/** Throws when the tables were written by a newer Heddle. */
export function refuseNewer(place: string, found: number, known: number): void {
  if (found <= known) return;
  throw new HeddleError(
    'STORE_UNAVAILABLE',
    `The store at ${place} was written by a newer Heddle: its schema is version ${found}, this one knows ${known}.`,
    { fix: 'Use that newer Heddle, or set `store` to another place.' },
  );
}
