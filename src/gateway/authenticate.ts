import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../core/call.ts';

/** Who is calling; undefined when they cannot show that they may. */
export type Authenticate = (request: IncomingMessage) => Caller | undefined;

/** One token, known to the owner of this gateway alone. */
export function bearerToken(token: string, caller: Caller): Authenticate {
  const expected = Buffer.from(`Bearer ${token}`);
  return function authenticate({ headers }) {
    const given = Buffer.from(headers.authorization ?? '');
    return given.length === expected.length && timingSafeEqual(given, expected) ? caller : undefined;
  };
}
