import type { Caller } from '../../core/call.ts';
import type { Access, Heddle } from '../../heddle.ts';

/** The parts that the sign-in pages share. */
export interface SignInSite {
  readonly signIns: Heddle['signIns'];
  readonly browserSignIns: Heddle['browserSignIns'];
  readonly settings: Access['settings'];
  /** The address of the gateway for browsers, without a slash at its end. */
  readonly base: () => string;
  /** True if browsers use https. */
  readonly isSecure: () => boolean;
  /** True if browsers reach the gateway on the loopback interface only. */
  readonly isLocal: () => boolean;
  /** Tests whether a typed credential is that of a caller. */
  readonly isCredentialOf: (caller: Caller, credential: string) => Promise<boolean>;
  /** Records that a person was refused at a page for this caller. */
  readonly refused: (caller: Caller, server: string, reason: string) => void;
  /** Called after the tokens of a caller are stored. */
  readonly onSignedIn: (caller: Caller, server: string) => void;
}
