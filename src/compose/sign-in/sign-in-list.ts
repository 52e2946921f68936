import type { RemoteEntry } from '../../config/schema/schema.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller } from '../../core/call.ts';
import type { SignIn } from '../../core/records/sign-in.ts';
import type { Clock } from '../../core/time.ts';
import { type RememberedRefusal, refusedPrincipal, type SignInBook } from '../../store/sign-in-book.ts';
import { type GrantLabel, SHARED_PRINCIPAL, type TokenVault } from '../../store/token-vault.ts';
import { signInFrom } from '../../upstream/auth/sign-in-state.ts';
import { fingerprintOf } from '../../upstream/lifecycle/credential-of.ts';

/** A server that a sign-in is possible to. */
export interface SignInServer {
  readonly name: string;
  readonly entry: RemoteEntry;
}

export interface SignInListParts {
  readonly store: { readonly vault: TokenVault; readonly signIns: SignInBook };
  readonly clock: Clock;
  /** The identity provider of servers with `oauth.xaa`. They share the sign-in at it. */
  readonly provider: string | undefined;
}

const ADMINISTRATORS: readonly string[] = ['owner', 'operator', 'auditor'];

/** Lists the sign-ins at these servers. Administrators see those of all principals, other callers their own. */
export async function listSignIns(
  { store, clock, provider }: SignInListParts,
  servers: readonly SignInServer[],
  by: Caller,
): Promise<readonly SignIn[]> {
  const labels = servers.length === 0 ? [] : await store.vault.labels();
  const isAdministrator = by.roles.some((role) => ADMINISTRATORS.includes(role));
  const own = vaultPrincipal(by);
  const rows = servers.map(async ({ name, entry }) => {
    const isPerUser = entry.oauth?.credentials === 'user';
    if (!isPerUser && !isAdministrator) return [];
    const isShared = entry.oauth?.xaa === true;
    const signedInAt = isShared ? (provider ?? entry.url) : entry.url;
    const granted = labels.filter((label) => label.serverUrl === signedInAt && (isShared || fits(entry, label)));
    const others = isPerUser && isAdministrator ? granted.map(({ principal }) => principal) : [];
    const principals = new Set(
      isPerUser ? [own, ...others.filter((one) => one !== SHARED_PRINCIPAL)] : [SHARED_PRINCIPAL],
    );
    return Promise.all(
      [...principals].map(async (principal) => {
        const stored = granted.filter((one) => one.principal === principal);
        const label = stored.find(({ unknownKey }) => unknownKey === undefined) ?? stored[0];
        const [refusal, pending] = await Promise.all([
          store.signIns.refusal(entry.url, refusedPrincipal(principal, fingerprintOf(entry))),
          store.signIns.pending(signedInAt, principal),
        ]);
        const pendingUntil = pending.at(-1)?.expiresAt;
        return { server: name, url: entry.url, principal, ...stateOf({ label, refusal, pendingUntil }, clock()) };
      }),
    );
  });
  return (await Promise.all(rows)).flat();
}

/** Tests whether a grant may be used with an entry: a configured issuer allows no other. */
const fits = ({ oauth }: RemoteEntry, { issuer }: GrantLabel) => oauth?.issuer === undefined || oauth.issuer === issuer;

interface Found {
  readonly label: GrantLabel | undefined;
  readonly refusal: RememberedRefusal | undefined;
  readonly pendingUntil: number | undefined;
}

type State = Omit<SignIn, 'server' | 'url' | 'principal'>;

function stateOf({ label, refusal, pendingUntil }: Found, now: number): State {
  const { state, refusal: refused } = signInFrom({ refusal, pendingUntil, grantedAt: label?.receivedAt }, now);
  const granted = label && {
    issuer: label.issuer,
    isRenewable: label.isRenewable,
    ...(label.expiresAt !== undefined && { expiresAt: label.expiresAt }),
  };
  if (state === 'needed' && refused) return { state, scopes: refused.scopes, reason: refused.reason, ...granted };
  if (state !== 'signed-in' || !label) return { state, scopes: label?.scopes ?? [], ...granted };
  if (label.unknownKey !== undefined) {
    const reason = `Its tokens are sealed with the key ${label.unknownKey}, which is not available here.`;
    return { state: 'needed', scopes: [], reason, ...granted };
  }
  const isOver = !label.isRenewable && label.expiresAt !== undefined && label.expiresAt <= now;
  if (!isOver) return { state: 'signed-in', scopes: label.scopes, ...granted };
  return { state: 'needed', scopes: label.scopes, reason: 'The access token has expired.', ...granted };
}
