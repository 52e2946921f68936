import type { JsonObject, TaskContinuation } from '../../core/call.ts';

/** The facts about the call of a continuation: its approval, and the arguments that hooks gave it. */
type Proofs = Pick<TaskContinuation, 'approved' | 'hooked'>;

/** Returns the claims of the call: `g` the proof of its approval, `y` the digest of the arguments that hooks gave. */
export const toProofClaims = ({ approved, hooked }: Proofs): JsonObject => ({
  ...(approved && { g: [approved.id, approved.digest, approved.nonce] }),
  ...(hooked !== undefined && { y: hooked }),
});

/** Reads these claims. Their shape is trusted, because `toProofClaims` made them. */
export function fromProofClaims({ g, y }: JsonObject): Proofs {
  const [id, digest, nonce] = Array.isArray(g) ? g : [];
  return {
    ...(id !== undefined && { approved: { id: String(id), digest: String(digest), nonce: String(nonce) } }),
    ...(y !== undefined && { hooked: String(y) }),
  };
}
