import type { ConnectionUser } from '../../../core/call/private-user.ts';
import type { ConnectionOwner, PrivateConnection } from './private-connection.ts';

export interface PrivateLimitsOptions {
  /** The most connections with a child process, in all and of one principal; 256 and 64 unless given. */
  readonly max?: number;
  readonly maxPerPrincipal?: number;
  /** The most connections of one principal to one server; 16 unless given. */
  readonly maxPerServer?: number;
  /** The most connections without a child process; 1,000 unless given. */
  readonly maxWithoutProcess?: number;
}

/** A limit of private connections, those that count for it, and the reason of a refusal. */
export interface PrivateLimit {
  readonly most: number;
  readonly counts: (entry: PrivateConnection) => boolean;
  readonly reason: string;
}

/** Returns the limits that one more connection of this user must not exceed. */
export function privateLimits(
  { max = 256, maxPerPrincipal = 64, maxPerServer = 16, maxWithoutProcess = 1000 }: PrivateLimitsOptions,
  owner: ConnectionOwner,
  { caller: { id } }: ConnectionUser,
): readonly PrivateLimit[] {
  const { local } = owner.plan;
  const isOwn = ({ user }: PrivateConnection) => user.principal === id;
  const isAlike = (entry: PrivateConnection) => entry.owner.plan.local === local;
  // A user has one connection to a server. More are opened only for a server whose requests name no call.
  const toServer: PrivateLimit = {
    most: maxPerServer,
    counts: (entry) => entry.owner === owner && isOwn(entry),
    reason: `${id} has ${maxPerServer} private connections to it, all in use`,
  };
  const most = local ? max : maxWithoutProcess;
  const inAll: PrivateLimit = { most, counts: isAlike, reason: `all ${most} private connections are in use` };
  if (!local) return [toServer, inAll];
  // One client with 28 local servers has 28 processes.
  const ofPrincipal: PrivateLimit = {
    most: maxPerPrincipal,
    counts: (entry) => isAlike(entry) && isOwn(entry),
    reason: `${id} has ${maxPerPrincipal} private connections, all in use`,
  };
  return [toServer, ofPrincipal, inAll];
}
