import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller } from '../../core/call.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { SignIn } from '../../core/records/sign-in.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { SHARED_PRINCIPAL } from '../../store/token-vault.ts';
import type { AuthParts } from '../../upstream/auth/auth-parts.ts';
import { canSignIn } from '../../upstream/lifecycle/credential-of.ts';
import type { ActiveConfig } from '../active-config.ts';
import type { SignInServer } from './sign-in-list.ts';

export interface RefusalOptions {
  readonly active: () => Pick<ActiveConfig, 'configs'>;
  readonly auth: AuthParts;
}

/** Returns the sign-ins at these servers; none if the store cannot be read, which its own check reports. */
export async function signInsAt(
  { auth }: RefusalOptions,
  servers: readonly SignInServer[],
  by: Caller,
): Promise<readonly SignIn[]> {
  if (servers.length === 0) return [];
  const parts = { store: auth, clock: auth.clock, provider: auth.xaa?.()?.issuer };
  const { listSignIns } = await import('./sign-in-list.ts');
  return listSignIns(parts, servers, by).catch(() => []);
}

/** Shows `needs-auth` for servers that were not started here, if the store says that a sign-in is needed. */
export async function withRefusals(
  options: RefusalOptions,
  by: Caller,
  statuses: readonly ServerStatus[],
): Promise<readonly ServerStatus[]> {
  const idle = statuses.flatMap(({ name, state, attempt: [attempt] }) => {
    const entry = state === 'pending' && attempt === 0 ? options.active().configs.get(name)?.entry : undefined;
    return entry && canSignIn(entry) ? [{ name, entry }] : [];
  });
  const needed = (await signInsAt(options, idle, by)).filter((signIn) => isNeeded(signIn, vaultPrincipal(by)));
  return statuses.map((status) => {
    const found = needed.find(({ server }) => server === status.name);
    return found ? { ...status, ...refusedState(found) } : status;
  });
}

/** Tests whether a sign-in is needed: for the server after a refusal, for an account of the caller's own without tokens. */
const isNeeded = ({ principal, state }: SignIn, own: string): boolean =>
  principal === SHARED_PRINCIPAL ? state === 'needed' : principal === own && state !== 'signed-in';

const refusedState = ({ server, reason = `${server} requires a sign-in.` }: SignIn): Partial<ServerStatus> => ({
  ...{ state: 'needs-auth', code: 'AUTH_NEEDED', reason },
  fix: `Run \`${quoteCommand(['heddle', 'auth', 'login', server])}\`.`,
});
