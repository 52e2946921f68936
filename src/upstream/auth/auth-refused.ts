import { HeddleError } from '../../core/errors.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import type { AddressSource } from '../../egress/address-source.ts';
import type { GuardedFetchOptions, GuardedResponse } from '../../egress/guarded-fetch.ts';
import type { AuthParts } from './auth-parts.ts';

/** A failed step of a sign-in. The message names all three. */
export interface AuthDefect {
  /** The name of the entry. */
  readonly server: string;
  /** The address that answered, or that is wrong. */
  readonly url: string;
  /** The rest of the sentence that begins with the URL. Text from outside is passed through `quoteRemote` first. */
  readonly defect: string;
  /** The OAuth error code. */
  readonly oauthError?: string;
  readonly fix?: string;
}

const MAX_QUOTED_CHARS = 300;

/** Returns text from outside on one line, without control characters, at most 300 characters long. */
export const quoteRemote = (text: string, max = MAX_QUOTED_CHARS): string => cutAndEscapeBreaks(text, max);

/** Returns AUTH_REFUSED: the authorization server refused, or its answer cannot be trusted. */
export function authRefused({ server, url, defect, oauthError, fix }: AuthDefect): HeddleError {
  const shown = quoteRemote(url);
  return new HeddleError('AUTH_REFUSED', `Signing in to "${server}" failed: ${shown} ${defect}.`, {
    ...(fix !== undefined && { fix }),
    details: { server, url: shown, ...(oauthError !== undefined && { oauthError }) },
  });
}

/** Returns UPSTREAM_UNREACHABLE: nothing is lost, and a later attempt may succeed. */
export function authUnreachable({ server, url, defect }: AuthDefect): HeddleError {
  const shown = quoteRemote(url);
  return new HeddleError('UPSTREAM_UNREACHABLE', `The sign-in to "${server}" has to wait: ${shown} ${defect}.`, {
    fix: 'Try again later; nothing was changed.',
    details: { server, url: shown },
  });
}

export interface AuthRequest extends Omit<GuardedFetchOptions, 'source'> {
  readonly server: string;
  readonly url: string;
  readonly source: AddressSource;
}

/**
 * Fetches for a sign-in. An address that must not be fetched from, or a response over the limits, is AUTH_REFUSED. A
 * failing network, 429 and 5xx are UPSTREAM_UNREACHABLE, silence is UPSTREAM_TIMEOUT.
 */
export async function authFetch(parts: Pick<AuthParts, 'fetch'>, request: AuthRequest): Promise<GuardedResponse> {
  const { server, url, ...options } = request;
  let response: GuardedResponse;
  try {
    response = await parts.fetch(url, options);
  } catch (thrown) {
    throw namedFailure(thrown, { server, url });
  }
  const { status } = response;
  if (status >= 500 || status === 429) throw authUnreachable({ server, url, defect: `answers with status ${status}` });
  return response;
}

function namedFailure(thrown: unknown, { server, url }: Pick<AuthDefect, 'server' | 'url'>): unknown {
  if (!HeddleError.is(thrown)) return thrown;
  const { code, details, message, fix } = thrown;
  if (code === 'UPSTREAM_UNREACHABLE' && typeof details.refused === 'string') {
    return authRefused({ server, url, defect: `${details.refused}, so nothing is fetched from it`, fix });
  }
  if (code === 'UPSTREAM_UNREACHABLE')
    return authUnreachable({ server, url, defect: `did not answer: ${message.replace(/\.$/, '')}` });
  if (code !== 'UPSTREAM_TIMEOUT') return thrown;
  const shown = quoteRemote(url);
  return new HeddleError(code, `The sign-in to "${server}" failed: ${shown} did not answer in time.`, {
    fix: 'Try again, or check the authorization server.',
    details: { server, url: shown },
  });
}
