import { createHash, timingSafeEqual } from 'node:crypto';
import type { Caller, Role } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import type { RequestHead } from '../http-request.ts';
import { bearerOf } from './bearer.ts';
import { callerCache } from './caller-cache.ts';
import { type KeysOf, keySource } from './jwks.ts';
import { type Claims, verifyToken } from './jwt.ts';
import { issuersOf, type TokenSettings } from './resource-metadata.ts';

/** Why somebody who shows a credential may not come in with it. */
export interface AuthRefusal {
  readonly status: 401 | 403 | 503;
  readonly message: string;
  readonly error?: 'invalid_token' | 'insufficient_scope';
}

/** Who is calling; undefined when they show nothing that counts here. */
export type Admission = Caller | AuthRefusal | undefined;

/** Finds out who is calling. Only what has to look something up takes time for it. */
export type Authenticate = (request: RequestHead) => Admission | Promise<Admission>;

export interface Credentials {
  /** Of the owner of this gateway alone. */
  readonly token: string;
  readonly access: Pick<Heddle['access'], 'keyOf' | 'settings'>;
  readonly clock?: Clock;
}

const OWNER: Caller = { id: 'owner', roles: ['owner'], via: 'gateway' };
const KEY_START = 'hk_';

function holderOf(token: string): (shown: string | undefined) => boolean {
  const expected = Buffer.from(token);
  return function holds(shown) {
    const given = Buffer.from(shown ?? '');
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
}

/** Every way in: the owner's token, a key, or a token of an issuer that the configuration in force accepts. */
export function authenticator({ token, access, clock }: Credentials): Authenticate {
  const isOwner = holderOf(token);
  const remember = callerCache();
  const tokenHolder = tokenHolders(clock);

  return function authenticate(request) {
    const shown = bearerOf(request);
    if (shown === undefined) return undefined;
    if (isOwner(shown)) return OWNER;
    if (shown.startsWith(KEY_START)) return keyHolder(access, shown).then((caller) => caller && remember(caller));
    const { auth } = access.settings().gateway;
    if (auth === undefined || auth === 'none') return undefined;
    return tokenHolder(shown, auth).then((caller) => ('id' in caller ? remember(caller) : caller));
  };
}

async function keyHolder(access: Credentials['access'], shown: string): Promise<Caller | undefined> {
  const digest = digestOf(shown);
  const key = await access.keyOf(digest.toString('hex'));
  if (!key || !timingSafeEqual(digest, Buffer.from(key.sha256, 'hex'))) return undefined;
  const { name, roles, profile } = key;
  return { id: `key:${name}`, roles, via: 'gateway', ...(profile !== undefined && { profile }) };
}

function tokenHolders(clock: Clock | undefined): (shown: string, auth: TokenSettings) => Promise<Caller | AuthRefusal> {
  // With the settings they were made for: another issuer's keys are not looked for among those of the last one.
  let source: { readonly auth: TokenSettings; readonly keysOf: KeysOf } | undefined;

  return async function tokenHolder(shown, auth) {
    if (source?.auth !== auth) source = { auth, keysOf: keySource({ jwksUrl: auth.jwksUrl, ...(clock && { clock }) }) };
    const { audience, algorithms } = auth;
    try {
      const rules = {
        issuers: issuersOf(auth),
        audience,
        algorithms,
        keysOf: source.keysOf,
        now: (clock ?? Date.now)(),
      };
      const claims = await verifyToken(shown, rules);
      return typeof claims === 'string'
        ? { status: 401, error: 'invalid_token', message: claims }
        : toCaller(claims, auth);
    } catch (thrown) {
      return { status: 503, message: HeddleError.from(thrown).message };
    }
  };
}

function toCaller({ issuer, subject, scopes }: Claims, auth: TokenSettings): Caller | AuthRefusal {
  const mapped = Object.entries(auth.scopes);
  const found = mapped.filter(([scope]) => scopes.includes(scope)).map(([, role]) => role);
  const roles: readonly Role[] = mapped.length === 0 ? ['user'] : [...new Set(found)];
  if (roles.length > 0) return { id: `${issuer}#${subject}`, roles, via: 'gateway' };
  return { status: 403, error: 'insufficient_scope', message: 'The token has none of the scopes that open anything.' };
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
