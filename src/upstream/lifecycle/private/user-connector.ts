import { inputFlags } from '../../../core/call/client-capabilities.ts';
import { type ConnectionUser, capabilitiesOfUser, ownerOf } from '../../../core/call/private-user.ts';
import { OWNER_PRINCIPAL, vaultPrincipal } from '../../../core/call/vault-principal.ts';
import { HeddleError, UpstreamError } from '../../../core/errors.ts';
import type { Connection } from '../../connection.ts';
import { isSignInNeeded } from '../../failure.ts';
import { connectFor, type PrivateConnector, type PrivateConnectorOptions } from './connect-for.ts';
import type { PrivateEvents } from './private-connection.ts';
import { privateFeed } from './private-feed.ts';
import { type ServerUsers, serverUsers } from './server-users.ts';

/** Opens the connections of a server with per-user credentials: each is for one caller, and no list is shared. */
export function userConnector(connector: PrivateConnectorOptions): PrivateConnector & { readonly users: ServerUsers } {
  const { options, definitions, clock, timer, signal } = connector;
  const { plan } = options;
  const users = serverUsers({ onSignInNeeded: options.onSignInNeeded, onForgotten: options.onPrivateEnd });
  const refusals = new WeakMap<Connection, (error: HeddleError) => void>();

  async function open(user: ConnectionUser, { onNotification, onRefused }: PrivateEvents): Promise<Connection> {
    const startedAt = performance.now();
    const refuse = (error: HeddleError) => {
      if (onRefused()) users.failed(user, forUser(error, user));
    };
    const known = isLegacyClient(user) && !plan.protocol ? 'legacy' : definitions.era.known();
    const connection = await connectFor(connector, user, { onNotification, known, onAuthNeeded: refuse });
    refusals.set(connection, refuse);
    definitions.extensions.take(connection.agreement.capabilities);
    if (known !== 'legacy' || connection.agreement.newest !== 'legacy') remember(known, connection);
    users.opened(user, Math.round(performance.now() - startedAt));
    return connection;
  }

  /** Caches the era and the transport, which are the same for all users, and no list. */
  function remember(known: Parameters<typeof definitions.era.record>[0], connection: Connection): void {
    const before = definitions.era.current();
    definitions.era.record(known, connection);
    if (definitions.era.current() !== before) definitions.saveConnected();
  }

  return {
    name: plan.name,
    plan,
    users,
    usesShared: () => false,
    openConnection: (user, events) =>
      open(user, events).catch((thrown) => {
        const error = forUser(HeddleError.from(thrown), user);
        definitions.invalidate(error);
        users.failed(user, error);
        throw error;
      }),
    follow(of, connection) {
      const user = ownerOf(of);
      return privateFeed(connection, {
        clock,
        timer,
        signal,
        subscriptions: options.subscriptions.of(of),
        onList(kind, items) {
          users.listed(of, kind, items.length);
          if (kind === 'tools') definitions.extensions.takeTools(items);
          options.onPrivateList(user, kind, items);
        },
        onFailure(thrown) {
          if (isSignInNeeded(thrown)) refusals.get(connection)?.(thrown);
        },
        onNotification: (method, params) => options.onNotification(method, params, user),
        onEnd() {}, // The user keeps its lists until the next connection: an idle connection is closed after 5 minutes.
      });
    },
  };
}

/** Tests whether a client needs the requests of a legacy connection during its calls. */
function isLegacyClient(user: ConnectionUser): boolean {
  const capabilities = capabilitiesOfUser(user);
  return user.caller.era === 'legacy' && capabilities !== undefined && inputFlags(capabilities) !== 0;
}

/** Returns the error with advice for its caller: only the user of this machine can run `heddle auth login`. */
function forUser(error: HeddleError, { caller }: ConnectionUser): HeddleError {
  if (error.code !== 'AUTH_NEEDED') return error;
  const isLocal = vaultPrincipal(caller) === OWNER_PRINCIPAL;
  const fix = isLocal ? error.fix : 'Call its tool `sign_in`, and open the address that it returns.';
  const details = { ...error.details, credentials: 'user' };
  return new UpstreamError('AUTH_NEEDED', error.message, { delivered: 'no', fix, details, cause: error });
}
