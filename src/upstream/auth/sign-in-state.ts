import type { SignInState } from '../../core/records/sign-in.ts';

/** The sign-in of one principal at one server. */
export interface SignInProgress {
  readonly state: SignInState;
  /** The time at which the state was reached, in milliseconds. */
  readonly at: number;
  /** The refusal that a sign-in would end; kept while the sign-in is in progress or has failed. */
  readonly refusal?: SignInRefusal;
  /** The end of a sign-in in progress. */
  readonly until?: number;
  /** Why the last sign-in failed. */
  readonly reason?: string;
}

/** A refusal of the server. Until it ends, no request is sent and no prompt is shown. */
export interface SignInRefusal {
  readonly at: number;
  readonly until: number;
  readonly reason: string;
  readonly scopes: readonly string[];
  readonly metadataUrl?: string;
  /** True if the tokens lack scopes: `scopes` are the union of theirs and the missing ones. */
  readonly isStepUp?: boolean;
  /** True if calls alone lack the scopes. It changes no state. */
  readonly isOfCall?: boolean;
  /** True if the challenge had the scheme DPoP. */
  readonly isDpop?: boolean;
}

/** The stored facts about the sign-in of a principal at a server. */
export interface SignInFacts {
  readonly refusal: SignInRefusal | undefined;
  /** The end of a sign-in in progress. */
  readonly pendingUntil?: number | undefined;
  /** The time at which the newest tokens were received. */
  readonly grantedAt: number | undefined;
}

export type SignInEvent =
  /** The server refused a request for want of a credential or of scopes. */
  | ({ readonly kind: 'refused' } & SignInRefusal)
  /** A person was sent to the authorization server. */
  | { readonly kind: 'begun'; readonly at: number; readonly until: number }
  /** Tokens were received, by this process or another one. */
  | { readonly kind: 'granted'; readonly at: number }
  | { readonly kind: 'failed'; readonly at: number; readonly reason: string }
  /** The tokens were removed. */
  | { readonly kind: 'forgotten'; readonly at: number }
  /** Time has passed: refusals and sign-ins in progress end. */
  | { readonly kind: 'passed'; readonly at: number };

export const NOT_SIGNED_IN: SignInProgress = { state: 'none', at: Number.NEGATIVE_INFINITY };

/** Returns the state that stored facts amount to. Credentials, status and lists read it here. */
export function signInFrom({ refusal, pendingUntil, grantedAt }: SignInFacts, now: number): SignInProgress {
  const events: SignInEvent[] = [];
  if (refusal) events.push({ kind: 'refused', ...refusal });
  if (pendingUntil !== undefined) events.push({ kind: 'begun', at: now, until: pendingUntil });
  if (grantedAt !== undefined) events.push({ kind: 'granted', at: grantedAt });
  return [...events, { kind: 'passed', at: now } as const].reduce(reduceSignIn, NOT_SIGNED_IN);
}

/** Returns the state that follows `signIn` after `event`; the same object if nothing changes. */
export function reduceSignIn(signIn: SignInProgress, event: SignInEvent): SignInProgress {
  switch (event.kind) {
    case 'refused':
      return refuse(signIn, event);
    case 'begun':
      return { ...kept(signIn), state: 'in-progress', at: event.at, until: event.until };
    case 'granted':
      return grant(signIn, event.at);
    case 'failed':
      if (signIn.state !== 'in-progress') return signIn;
      return { ...kept(signIn), state: 'failed', at: event.at, reason: event.reason };
    case 'forgotten':
      return { state: 'none', at: event.at };
    case 'passed':
      return pass(signIn, event.at);
  }
}

const kept = ({ refusal }: SignInProgress) => (refusal ? { refusal } : {});

/** Takes a refusal. Of several requests that are refused together, the first decides: they start one sign-in. */
function refuse(signIn: SignInProgress, { kind: _, ...refusal }: SignInRefusal & { kind: string }): SignInProgress {
  if (refusal.isOfCall) return signIn;
  const { state, at } = signIn;
  const isOlder = state === 'signed-in' && refusal.at < at;
  const isKnown = state === 'needed' && signIn.refusal !== undefined && refusal.at < signIn.refusal.until;
  if (isOlder || isKnown) return signIn;
  if (state === 'in-progress') return { ...signIn, refusal };
  return { state: 'needed', at: refusal.at, refusal };
}

/** Takes tokens. Those that were received before a refusal do not end it. */
function grant(signIn: SignInProgress, at: number): SignInProgress {
  if (signIn.state === 'signed-in' || (signIn.refusal && at < signIn.refusal.at)) return signIn;
  return { state: 'signed-in', at };
}

function pass(signIn: SignInProgress, now: number): SignInProgress {
  const { state, refusal, until = 0 } = signIn;
  const inForce = refusal && now < refusal.until ? refusal : undefined;
  if (state === 'signed-in' || state === 'none') return signIn;
  if (state === 'in-progress' && now < until) return signIn;
  if (state !== 'in-progress' && inForce) return signIn;
  return inForce ? { state: 'needed', at: inForce.at, refusal: inForce } : { state: 'none', at: now };
}
