import type { Caller } from '../../core/call.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { SignIn } from '../../core/records/sign-in.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { AuthParts } from '../../upstream/auth/auth-parts.ts';
import { canSignIn } from '../../upstream/lifecycle/credential-of.ts';
import type { ActiveConfig } from '../active-config.ts';
import { listSignIns, type SignInServer } from './sign-in-list.ts';

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
  return listSignIns(parts, servers, by).catch(() => []);
}

/** Shows `needs-auth` for servers that were not started here and have refused another process. */
export async function withRefusals(
  options: RefusalOptions,
  by: Caller,
  statuses: readonly ServerStatus[],
): Promise<readonly ServerStatus[]> {
  const idle = statuses.flatMap(({ name, state, attempt: [attempt] }) => {
    const entry = state === 'pending' && attempt === 0 ? options.active().configs.get(name)?.entry : undefined;
    return entry && canSignIn(entry) ? [{ name, entry }] : [];
  });
  const needed = (await signInsAt(options, idle, by)).filter(({ state }) => state === 'needed');
  return statuses.map((status) => {
    const found = needed.find(({ server }) => server === status.name);
    return found ? { ...status, ...refusedState(found) } : status;
  });
}

const refusedState = ({ server, reason = `${server} requires a sign-in.` }: SignIn): Partial<ServerStatus> => ({
  ...{ state: 'needs-auth', code: 'AUTH_NEEDED', reason },
  fix: `Run \`${quoteCommand(['heddle', 'auth', 'login', server])}\`.`,
});
