import { NO_CAPABILITIES } from '../../../core/call/client-capabilities.ts';
import { type ConnectionUser, capabilitiesOfUser } from '../../../core/call/private-user.ts';
import { HeddleError } from '../../../core/errors.ts';
import type { Connection, ConnectOptions } from '../../connection.ts';
import type { RefreshListsOptions } from '../refresh-lists.ts';
import type { ServerDefinitions } from '../server-definitions.ts';
import type { ServerOptions } from '../server-options.ts';
import type { ConnectionOwner } from './private-connection.ts';
import type { ServerUsers } from './server-users.ts';

/** The parts of a server that its private connections need. */
export interface PrivateConnectorOptions extends Pick<RefreshListsOptions, 'clock' | 'timer' | 'signal'> {
  readonly options: ServerOptions;
  readonly definitions: ServerDefinitions;
  /** Returns the shared connection if it is open. */
  readonly shared: () => Connection | undefined;
  readonly handlers: Pick<ConnectOptions, 'onTrouble' | 'onAuthNeeded'>;
  readonly withDeadline: <T>(task: (signal: AbortSignal) => Promise<T>) => Promise<T>;
}

/** Opens the private connections of one server, and passes their lists and notifications on to their users. */
export interface PrivateConnector extends ConnectionOwner {
  /** Tests whether a user belongs on the shared connection. Uses the cached era while there is no connection. */
  usesShared(user: ConnectionUser): boolean;
  /** The users of a server with per-user credentials, which has no shared connection. */
  readonly users?: ServerUsers;
}

/** Opens a connection for one user, with the capabilities of its client. */
export function connectFor(
  { options, definitions, handlers, withDeadline }: PrivateConnectorOptions,
  user: ConnectionUser,
  own: Pick<ConnectOptions, 'onNotification' | 'known' | 'onAuthNeeded'>,
): Promise<Connection> {
  const { connect, name: server } = options.plan;
  if (HeddleError.is(connect)) return Promise.reject(connect);
  const { caller } = user;
  const urlTransport = definitions.urlTransport();
  const capabilities = capabilitiesOfUser(user) ?? NO_CAPABILITIES;
  return withDeadline((signal) => connect({ ...handlers, server, caller, urlTransport, capabilities, ...own, signal }));
}
