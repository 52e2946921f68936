import { createPrivateKey, type KeyObject, randomUUID } from 'node:crypto';
import { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';

export interface ClientAssertionOptions {
  /** The name of the server, for errors. */
  readonly server: string;
  /** The PEM text of `oauth.privateKey`. */
  readonly privateKey: string;
  readonly clientId: string;
  /** The issuer of the authorization server. It is the audience, so no other server can use the assertion. */
  readonly issuer: string;
  /** `token_endpoint_auth_signing_alg_values_supported` of the authorization server. */
  readonly algorithms?: readonly string[] | undefined;
  readonly clock: Clock;
}

const LIFETIME_SECONDS = 60;
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const MIN_RSA_BITS = 2048;

/** Returns the parameters that authenticate a client by `private_key_jwt` (RFC 7523) in one token request. */
export async function clientAssertion(options: ClientAssertionOptions): Promise<Readonly<Record<string, string>>> {
  const { clientId, issuer, clock } = options;
  const key = readKey(options);
  const alg = algorithmOf(key, options);
  const now = Math.floor(clock() / 1000);
  const { SignJWT } = await import('jose/jwt/sign');
  const assertion = await new SignJWT({ iss: clientId, sub: clientId, aud: issuer, jti: randomUUID() })
    .setProtectedHeader({ alg })
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + LIFETIME_SECONDS)
    .sign(key);
  return { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion };
}

function readKey({ server, privateKey }: ClientAssertionOptions): KeyObject {
  try {
    return createPrivateKey(privateKey);
  } catch {
    // The cause may quote the key.
    throw invalid(server, 'is not a private key in PEM');
  }
}

/** Chooses the algorithm by the key. An RSA key signs RS256, or PS256 if the authorization server accepts only that. */
function algorithmOf(key: KeyObject, { server, algorithms }: ClientAssertionOptions): string {
  const isAccepted = (alg: string) => algorithms === undefined || algorithms.includes(alg);
  const candidates = candidatesOf(key);
  if (candidates.length === 0)
    throw invalid(server, 'is neither a P-256, an RSA (2,048 bits or more) nor an Ed25519 key');
  // The name Ed25519 of RFC 9864 means the same signature.
  const isEdwards = key.asymmetricKeyType === 'ed25519' && isAccepted('Ed25519') && !isAccepted('EdDSA');
  const alg = isEdwards ? 'Ed25519' : candidates.find(isAccepted);
  if (alg !== undefined) return alg;
  throw new HeddleError(
    'AUTH_REFUSED',
    `The authorization server of ${server} accepts no ${candidates.join(' or ')} signature, which \`oauth.privateKey\` makes.`,
    { fix: 'Register a key with the authorization server that it accepts, and set `oauth.privateKey` to it.' },
  );
}

function candidatesOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] {
  const { modulusLength = 0, namedCurve } = asymmetricKeyDetails ?? {};
  switch (asymmetricKeyType) {
    case 'ec':
      return namedCurve === 'prime256v1' ? ['ES256'] : [];
    case 'rsa':
      return modulusLength >= MIN_RSA_BITS ? ['RS256', 'PS256'] : [];
    case 'ed25519':
      return ['EdDSA'];
    default:
      return [];
  }
}

const invalid = (server: string, defect: string) =>
  new HeddleError('CONFIG_INVALID', `\`oauth.privateKey\` of ${server} ${defect}.`, {
    fix: 'Set `oauth.privateKey` to the whole text of the PEM file, for example by `${secret:name}`.',
  });
