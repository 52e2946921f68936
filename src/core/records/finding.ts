import type { JsonObject } from '../call.ts';

/** A result of `heddle doctor` about one subject. */
export interface Finding {
  readonly level: 'ok' | 'warn' | 'error';
  readonly subject: string;
  readonly message: string;
  readonly fix?: string;
  /** The same information for programs. */
  readonly facts?: JsonObject;
}
