import type { AuthParts } from '../../upstream/auth/auth-parts.ts';
import { forgetSignIn } from '../../upstream/auth/sign-in/forget-sign-in.ts';
import { canSignIn } from '../../upstream/lifecycle/credential-of.ts';
import { whyNotConnectable } from '../../upstream/lifecycle/plan-server.ts';
import type { ActiveConfig } from '../active-config.ts';
import type { SignInsOptions } from './sign-ins.ts';

export interface ForgetAccountsOptions extends Pick<SignInsOptions, 'onCredential'> {
  readonly active: () => Pick<ActiveConfig, 'configs'>;
  readonly auth: AuthParts;
}

/** The time limit of the revocations. The tokens are removed in any case. */
const REVOKE_LIMIT_MS = 15_000;

/**
 * Removes the tokens, sign-ins in progress and tickets of a caller that is no more. Revokes the tokens where the
 * authorization server of a configured server supports that.
 */
export async function forgetAccounts(options: ForgetAccountsOptions, principal: string): Promise<void> {
  const { active, auth, onCredential } = options;
  await auth.signIns.abandon(principal);
  const granted = await auth.vault.serversOf(principal);
  if (granted.length === 0) return;
  const signal = AbortSignal.timeout(REVOKE_LIMIT_MS);
  const revocations = [...active().configs.values()].map(async (config) => {
    const { name: server, entry } = config;
    if (!entry || !canSignIn(entry) || !granted.includes(entry.url) || whyNotConnectable(config)) return;
    const target = { server, serverUrl: entry.url, oauth: entry.oauth, principal };
    await forgetSignIn(auth, { target, signal });
    await onCredential?.(server, principal, 'removed');
  });
  await Promise.allSettled(revocations);
  for (const serverUrl of await auth.vault.serversOf(principal)) await auth.vault.remove(serverUrl, principal);
}
