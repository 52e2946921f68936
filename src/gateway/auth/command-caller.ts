import type { Caller } from '../../core/call.ts';
import { hasOwnerToken } from './authenticate.ts';
import { commandProofOf, isSameProof } from './gateway-proof.ts';

export interface CommandCallers {
  /** The user of the gateway's process. Commands with the owner's token act as this user. */
  readonly user: Caller;
  readonly proofKey: string;
  /** The profile of API keys that have none, if the gateway serves one profile alone. */
  readonly profile?: string | undefined;
}

/**
 * Returns the caller that a command acts as: the user, or an API key at the command line. Returns undefined for requests
 * without the proof of a command, and for JWTs.
 */
export function commandCaller({ user, proofKey, profile: served }: CommandCallers) {
  const expected = commandProofOf({ proofKey });
  return function callerOf(caller: Caller, proof: unknown): Caller | undefined {
    if (!isSameProof(proof, expected)) return undefined;
    if (hasOwnerToken(caller)) return user;
    if (!caller.id.startsWith('key:')) return undefined;
    const { profile = served } = caller;
    return { ...caller, via: 'cli', ...(profile !== undefined && { profile }) };
  };
}
