import type { RequestHead } from '../http-request.ts';

/** The credential a request shows, whatever it is; undefined when it shows none. */
export function bearerOf({ headers }: RequestHead): string | undefined {
  return /^Bearer +(\S.*)$/i.exec(headers.authorization ?? '')?.[1];
}

export interface Challenge {
  /** Where the client finds out who issues tokens; without it there is nothing more to say than that one is needed. */
  readonly metadata?: string;
  readonly scopes?: readonly string[];
  readonly error?: 'invalid_token' | 'insufficient_scope';
  readonly description?: string;
}

/** The `WWW-Authenticate` of a refusal (RFC 6750, RFC 9728). */
export function challengeOf({ metadata, scopes = [], error, description }: Challenge): string {
  if (metadata === undefined) return 'Bearer';
  const parts = {
    error,
    error_description: error && description,
    scope: scopes.length > 0 ? scopes.join(' ') : undefined,
    resource_metadata: metadata,
  };
  const said = Object.entries(parts).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  );
  return `Bearer ${said.join(', ')}`;
}

const quotable = (text: string) => text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'");
