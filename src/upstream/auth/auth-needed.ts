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
  /** The scopes that one call lacks. The advice names them. */
  readonly missing?: readonly string[];
  readonly details?: JsonObject;
  readonly cause?: unknown;
}

/** The most scopes that a message names. */
export const MAX_NAMED_SCOPES = 10;

const scopeOption = (scope: string) => (scope.startsWith('-') ? [`--scope=${scope}`] : ['--scope', scope]);

/** Returns the error for a server that a person has to sign in to. The request was not carried out. */
export function authNeeded(needed: NeededSignIn): UpstreamError {
  const { server, reason, scopes = [], metadataUrl, missing = [], details, cause } = needed;
  const command = ['heddle', 'auth', 'login', server, ...missing.slice(0, MAX_NAMED_SCOPES).flatMap(scopeOption)];
  return new UpstreamError('AUTH_NEEDED', reason, {
    delivered: 'no',
    fix: `Run \`${quoteCommand(command)}\`.`,
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
