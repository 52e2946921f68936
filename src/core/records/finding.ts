import type { JsonObject } from '../call.ts';

/** One thing worth knowing when something does not work. */
export interface Finding {
  readonly level: 'ok' | 'warn' | 'error';
  readonly subject: string;
  readonly message: string;
  readonly fix?: string;
  /** The same for programs. */
  readonly facts?: JsonObject;
}
