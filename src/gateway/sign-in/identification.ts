import type { Caller } from '../../core/call.ts';
import type { Access } from '../../heddle.ts';
import { issuersOf } from '../auth/resource-metadata.ts';

/** How the person at the browser proves to be the caller of a ticket. */
export type Identification =
  /** The ticket itself: the browser and the gateway are on one machine. */
  | { readonly kind: 'ticket' }
  /** The API key, or the owner's token, typed in. */
  | { readonly kind: 'credential'; readonly label: string }
  /** A sign-in at the issuer of the caller's tokens. */
  | { readonly kind: 'oidc'; readonly issuer: string; readonly clientId: string; readonly clientSecret?: string }
  | { readonly kind: 'impossible'; readonly reason: string };

const KEY_PREFIX = 'key:';

/** Chooses how a caller is identified. `isLocal`: browsers reach the gateway on the loopback interface. */
export function identificationOf(
  { id }: Caller,
  { gateway }: ReturnType<Access['settings']>,
  isLocal: boolean,
): Identification {
  if (id.startsWith(KEY_PREFIX)) return { kind: 'credential', label: `API key ${id.slice(KEY_PREFIX.length)}` };
  const auth = gateway.auth === 'none' ? undefined : gateway.auth;
  const issuer = auth && issuersOf(auth).find((one) => id.startsWith(`${one}#`));
  if (auth?.clientId !== undefined && issuer !== undefined) {
    const { clientId, clientSecret } = auth;
    return { kind: 'oidc', issuer, clientId, ...(clientSecret !== undefined && { clientSecret }) };
  }
  if (isLocal) return { kind: 'ticket' };
  if (issuer !== undefined) {
    const reason = `\`gateway.auth.clientId\` is not set, so no user can be identified at ${issuer}. The operator has to set it.`;
    return { kind: 'impossible', reason };
  }
  if (id === 'owner') return { kind: 'credential', label: 'The token that `heddle up` printed' };
  return { kind: 'impossible', reason: `The caller ${id} has no credential to be identified by.` };
}
