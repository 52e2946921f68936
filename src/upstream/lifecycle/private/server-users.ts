import { type ConnectionUser, ownerOf, type PrivateUser, userKey } from '../../../core/call/private-user.ts';
import { vaultPrincipal } from '../../../core/call/vault-principal.ts';
import type { Caller } from '../../../core/call.ts';
import type { HeddleError } from '../../../core/errors.ts';
import type { ServerStatus } from '../../../core/records/server-status.ts';
import type { Connection, ListKind } from '../../connection.ts';

/** The last opening of a connection for one user. */
type Opened = { readonly connectMs: number } | { readonly error: HeddleError };

interface KnownUser {
  readonly user: ConnectionUser;
  readonly owner: PrivateUser;
  opened: Opened | undefined;
  /** The number of entries of each list; undefined while the tools are unknown. */
  counts: Partial<Record<ListKind, number>> | undefined;
}

export interface ServerUsersOptions {
  /** Called when a user has to sign in: its lists are no longer valid. */
  readonly onSignInNeeded: (user: PrivateUser) => void;
  /** Called when a user is forgotten, since there are too many. */
  readonly onForgotten: (user: PrivateUser) => void;
  readonly max?: number;
}

/** The users of one server with per-user credentials: their sign-ins and what they were listed, each for itself. */
export interface ServerUsers {
  opened(user: ConnectionUser, connectMs: number): void;
  /** Takes a failed opening or a refused request. AUTH_NEEDED concerns all users of the principal. */
  failed(user: ConnectionUser, error: HeddleError): void;
  listed(user: ConnectionUser, kind: ListKind, count: number): void;
  /** Tests whether the tools of this user are known, also while there is no connection. */
  isListed(user: ConnectionUser): boolean;
  needsSignIn(user: ConnectionUser): boolean;
  /** Returns the known users whose tokens belong to this vault principal. */
  of(principal: string): readonly ConnectionUser[];
  /** Returns those of them that wait for a sign-in. */
  waiting(principal: string): readonly ConnectionUser[];
  /** Returns the status of the server as this caller sees it. */
  statusFor(status: ServerStatus, caller: Caller, connectionOf: ConnectionOf): ServerStatus;
  /** Forgets all users. */
  clear(): void;
}

type ConnectionOf = (user: ConnectionUser) => Connection | undefined;

const MAX_USERS = 1000;

export function serverUsers({ onSignInNeeded, onForgotten, max = MAX_USERS }: ServerUsersOptions): ServerUsers {
  const known = new Map<string, KnownUser>();
  const find = (user: ConnectionUser) => known.get(userKey(ownerOf(user)));
  const ofPrincipal = (principal: string) =>
    [...known.values()].filter(({ user }) => vaultPrincipal(user.caller) === principal);

  function forget(key: string, { owner }: KnownUser): void {
    known.delete(key);
    onForgotten(owner);
  }

  /** Returns the entry of a user and makes it the newest. */
  function enter(user: ConnectionUser): KnownUser {
    const owner = ownerOf(user);
    const key = userKey(owner);
    const entry = known.get(key) ?? { user, owner, opened: undefined, counts: undefined };
    known.delete(key);
    known.set(key, entry);
    const [oldest] = known;
    if (known.size > max && oldest) forget(...oldest);
    return entry;
  }

  return {
    opened(user, connectMs) {
      enter(user).opened = { connectMs };
    },
    failed(user, error) {
      const own = enter(user);
      if (error.code !== 'AUTH_NEEDED') {
        own.opened = { error };
        return;
      }
      for (const one of ofPrincipal(vaultPrincipal(user.caller))) {
        one.opened = { error };
        one.counts = undefined;
        onSignInNeeded(one.owner);
      }
    },
    listed(user, kind, count) {
      const one = enter(user);
      one.counts = { ...one.counts, [kind]: count };
    },
    isListed: (user) => find(user)?.counts?.tools !== undefined,
    needsSignIn(user) {
      const one = find(user);
      return one !== undefined && isWaiting(one);
    },
    of: (principal) => ofPrincipal(principal).map(({ user }) => user),
    waiting: (principal) =>
      ofPrincipal(principal)
        .filter(isWaiting)
        .map(({ user }) => user),
    statusFor(status, caller, connectionOf) {
      if (status.state !== 'pending') return status; // Disabled, or its entry cannot be used.
      const users = ofPrincipal(vaultPrincipal(caller)).reverse();
      const connected = users.find(({ user }) => connectionOf(user));
      const connection = connected && connectionOf(connected.user);
      const shown = connected ?? users[0];
      if (connection && shown) return { ...status, ...connectedStatus(connection, shown), ...shown.counts };
      const error = shown?.opened && 'error' in shown.opened ? shown.opened.error : undefined;
      return { ...status, ...(error && failedStatus(error)), ...shown?.counts };
    },
    clear() {
      for (const [key, one] of known) forget(key, one);
    },
  };
}

const isWaiting = ({ opened }: KnownUser): boolean =>
  opened !== undefined && 'error' in opened && opened.error.code === 'AUTH_NEEDED';

function connectedStatus({ agreement }: Connection, { opened }: KnownUser): Partial<ServerStatus> {
  const { era, protocolVersion, serverInfo, capabilities, instructions } = agreement;
  const connectMs = opened && 'connectMs' in opened ? opened.connectMs : 0;
  const info = { era, protocolVersion, serverInfo, capabilities, instructions, connectMs };
  return { state: 'connected', health: 'ok', attempt: [1, 1], info };
}

function failedStatus({ code, message: reason, fix }: HeddleError): Partial<ServerStatus> {
  const state = code === 'AUTH_NEEDED' ? 'needs-auth' : 'failed';
  return { state, attempt: [1, 1], code, reason, ...(fix !== undefined && { fix }) };
}
