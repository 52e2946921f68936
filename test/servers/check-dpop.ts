import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose';

interface BoundToken {
  readonly jkt?: string;
  readonly token: string;
  readonly url: string;
  readonly dpopNonce?: string;
}

const seen = new Set<string>();

/** Checks the DPoP proof of a request (RFC 9449). Returns the error code of the challenge. */
export async function checkDpop(
  request: IncomingMessage,
  { jkt, token, url, dpopNonce }: BoundToken,
): Promise<string | undefined> {
  if (!request.headers.authorization?.startsWith('DPoP ')) return 'invalid_token';
  try {
    const { payload, protectedHeader } = await jwtVerify(String(request.headers.dpop), EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: ['ES256'],
      maxTokenAge: 300,
    });
    const { htm, htu, ath, jti, nonce } = payload;
    if (dpopNonce !== undefined && nonce !== dpopNonce) return 'use_dpop_nonce';
    const isRight =
      htm === request.method &&
      htu === url &&
      ath === createHash('sha256').update(token).digest('base64url') &&
      typeof jti === 'string' &&
      !seen.has(jti) &&
      (await calculateJwkThumbprint(protectedHeader.jwk as never)) === jkt;
    seen.add(String(jti));
    return isRight ? undefined : 'invalid_dpop_proof';
  } catch {
    return 'invalid_dpop_proof';
  }
}
