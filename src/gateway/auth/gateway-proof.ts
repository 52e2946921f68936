import { createHmac, timingSafeEqual } from 'node:crypto';

/** The part of a gateway's note that proves which process wrote it. */
export interface ProvenBy {
  /** The MCP endpoint. It binds a proof to one port, so that a proof relayed from another gateway does not count. */
  readonly url: string;
  /** A random key of this one start. It is not the token, which a person may have chosen and a proof would help to guess. */
  readonly proofKey: string;
}

/** Computes the proof for a challenge. Only the gateway that wrote the note has the key. */
export const proofOf = ({ url, proofKey }: ProvenBy, challenge: string): string =>
  createHmac('sha256', proofKey).update(`heddle gateway ${url} ${challenge}`).digest('base64url');

/** Computes the proof that a command can read the gateway's note. The token alone is known to clients, too. */
export const commandProofOf = ({ proofKey }: Pick<ProvenBy, 'proofKey'>): string =>
  createHmac('sha256', proofKey).update('heddle command').digest('base64url');

/** Compares two proofs in constant time. */
export function isSameProof(actual: unknown, expected: string): boolean {
  const [left, right] = [Buffer.from(String(actual)), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Finds the challenge in the URL of a request to `/healthz`. */
export const challengeIn = (url = ''): string | undefined => /\?challenge=([\w-]{16,64})$/.exec(url)?.[1];
