import type { RequestHead } from '../http-request.ts';

/** Returns the bearer credential of a request, of any kind; undefined if there is none. */
export function bearerOf({ headers }: RequestHead): string | undefined {
  return /^Bearer +(\S.*)$/i.exec(headers.authorization ?? '')?.[1];
}

interface Challenge {
  /** URL of the protected resource metadata. Without it the challenge is `Bearer` alone. */
  readonly metadata?: string;
  readonly scopes?: readonly string[];
  readonly error?: 'invalid_token' | 'insufficient_scope';
  readonly description?: string;
}

/** Formats the `WWW-Authenticate` header of a refusal (RFC 6750, RFC 9728). */
export function challengeOf({ metadata, scopes = [], error, description }: Challenge): string {
  if (metadata === undefined) return 'Bearer';
  const parts = {
    error,
    error_description: error && description,
    scope: scopes.length > 0 ? scopes.join(' ') : undefined,
    resource_metadata: metadata,
  };
  const params = Object.entries(parts).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  );
  return `Bearer ${params.join(', ')}`;
}

const quotable = (text: string) => text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'");
