import type { JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { challengeFacts } from './challenge.ts';
import type { Challenge, Refusal } from './credential.ts';

export interface NeededSignIn {
  /** The name of the server. */
  readonly server: string;
  /** The whole message. */
  readonly reason: string;
  /** The scopes to request. */
  readonly scopes?: readonly string[];
  /** The `resource_metadata` of the challenge. */
  readonly metadataUrl?: string | undefined;
  readonly details?: JsonObject;
  readonly cause?: unknown;
}

/** Returns the error for a server that a person has to sign in to. The request was not carried out. */
export function authNeeded({ server, reason, scopes = [], metadataUrl, details, cause }: NeededSignIn): UpstreamError {
  return new UpstreamError('AUTH_NEEDED', reason, {
    delivered: 'no',
    fix: `Run \`${quoteCommand(['heddle', 'auth', 'login', server])}\`.`,
    details: { ...details, server, scopes: [...scopes], ...(metadataUrl === undefined ? {} : { metadataUrl }) },
    cause,
  });
}

/** Returns the challenge of an OAuth scheme, DPoP before Bearer. */
export function oauthChallenge({ challenges }: Pick<Refusal, 'challenges'>): Challenge | undefined {
  const find = (scheme: string) => challenges.find((challenge) => challenge.scheme === scheme);
  return find('dpop') ?? find('bearer');
}

/** Returns the scopes that a challenge names. */
export const challengedScopes = (challenge: Challenge | undefined): readonly string[] =>
  challengeFacts({ challenges: challenge ? [challenge] : [] }).scopes;

/** Returns the union of scopes, in their order. */
export const unionOf = (first: readonly string[], second: readonly string[]): readonly string[] => [
  ...new Set([...first, ...second]),
];
