import type { Call, Caller, ClientCapabilities } from '../call.ts';
import { capabilitiesKey } from './client-capabilities.ts';

/** The owner of a private connection: one principal, with one set of capabilities, on clients of one era. */
export interface PrivateUser {
  readonly principal: string;
  /** The capability set as `capabilitiesKey` encodes it. */
  readonly capabilitySet: number;
  readonly era: 'legacy' | 'modern';
}

/** The part of a call that decides which connection it uses. */
export type ConnectionUser = Pick<Call, 'caller' | 'capabilities'>;

/** Returns the client capabilities of a call, also for kinds of calls that get no input requests. */
export const capabilitiesOfUser = ({
  caller,
  capabilities = caller.capabilities,
}: ConnectionUser): ClientCapabilities | undefined => capabilities;

/** Returns the owner of the private connection that a call would use. */
export const ownerOf = ({ caller, capabilities = caller.capabilities }: ConnectionUser): PrivateUser =>
  privateUser(caller, capabilities);

/** Without capabilities the era of the client makes no difference. */
function privateUser({ id, era }: Pick<Caller, 'id' | 'era'>, capabilities?: ClientCapabilities): PrivateUser {
  const capabilitySet = capabilitiesKey(capabilities);
  return { principal: id, capabilitySet, era: capabilitySet === 0 ? 'modern' : (era ?? 'modern') };
}

/** Returns one string for each owner. */
export const userKey = ({ principal, capabilitySet, era }: PrivateUser): string =>
  `${capabilitySet} ${era} ${principal}`;

/** Returns true if a key of `userKey` belongs to this principal. */
export const isKeyOf = (key: string, principal: string): boolean => key.replace(/^\S+ \S+ /, '') === principal;

export const isSameUser = (one: PrivateUser, other: PrivateUser): boolean =>
  one.principal === other.principal && one.capabilitySet === other.capabilitySet && one.era === other.era;

/** Returns the key of the private user that a caller would be. */
export const callerKey = (caller: Pick<Caller, 'id' | 'era'>, capabilities: ClientCapabilities | undefined): string =>
  userKey(privateUser(caller, capabilities));
