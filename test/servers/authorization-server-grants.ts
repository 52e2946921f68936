import { type JWK, jwtVerify, SignJWT } from 'jose';
import { errors, type GrantContext, type Provider } from 'oidc-provider';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';
const REFRESH_TOKEN = 'urn:ietf:params:oauth:token-type:refresh_token';

/** An issuer of assertions that an authorization server accepts. */
export interface TrustedIssuer {
  readonly issuer: string;
  readonly publicJwk: JWK;
}

export interface ExchangeParts {
  readonly issuer: string;
  readonly privateJwk: JWK;
  readonly publicJwk: JWK;
  readonly trustedIssuers: readonly TrustedIssuer[];
  /** The resource server of a resource indicator, with its scopes. */
  resourceServer(resource: string): object;
  /** Throws an OAuth error to refuse a token exchange. */
  onExchange?(params: Readonly<Record<string, string | undefined>>): void;
}

const refuse = (error: string, description: string) => new errors.CustomOIDCProviderError(error, description);

/** Adds token exchange for ID-JAGs, and the grant `jwt-bearer`, to a provider. */
export function registerExchangeGrants(provider: Provider, parts: ExchangeParts): void {
  const seen = new Set<string>();
  provider.registerGrantType(TOKEN_EXCHANGE, (ctx) => exchange(provider, parts, ctx), [
    ...['subject_token', 'subject_token_type', 'requested_token_type', 'audience', 'resource', 'scope'],
  ]);
  provider.registerGrantType(JWT_BEARER, (ctx) => redeem(provider, { ...parts, seen }, ctx), [
    ...['assertion', 'resource', 'scope'],
  ]);
}

async function exchange(provider: Provider, parts: ExchangeParts, ctx: GrantContext): Promise<void> {
  const { params, client } = ctx.oidc;
  parts.onExchange?.(params);
  if (params.requested_token_type !== ID_JAG) throw refuse('invalid_request', 'Only ID-JAGs are issued.');
  if (!params.audience) throw refuse('invalid_target', 'The audience is missing.');
  const sub = await subjectOf(provider, parts, ctx);
  const jag = await new SignJWT({ client_id: client.clientId, resource: params.resource, scope: params.scope })
    .setProtectedHeader({ alg: 'ES256', typ: 'oauth-id-jag+jwt', kid: String(parts.privateJwk.kid) })
    .setIssuer(parts.issuer)
    .setSubject(sub)
    .setAudience(params.audience)
    .setJti(crypto.randomUUID())
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(parts.privateJwk);
  ctx.body = { access_token: jag, issued_token_type: ID_JAG, token_type: 'N_A', expires_in: 300 };
}

/** Returns the subject of an ID token or a refresh token that this provider issued. */
async function subjectOf(provider: Provider, parts: ExchangeParts, { oidc }: GrantContext): Promise<string> {
  const { subject_token: token = '', subject_token_type: type } = oidc.params;
  if (type === REFRESH_TOKEN) {
    const found = await provider.RefreshToken.find(token);
    if (!found?.isValid || found.clientId !== oidc.client.clientId) throw refuse('invalid_grant', 'No such session.');
    return String(found.accountId);
  }
  if (type !== ID_TOKEN) throw refuse('invalid_request', 'The type of the subject token is not supported.');
  try {
    const { payload } = await jwtVerify(token, parts.publicJwk, {
      issuer: parts.issuer,
      audience: oidc.client.clientId,
    });
    return String(payload.sub);
  } catch {
    throw refuse('invalid_grant', 'The ID token is not valid.');
  }
}

async function redeem(
  provider: Provider,
  parts: ExchangeParts & { readonly seen: Set<string> },
  ctx: GrantContext,
): Promise<void> {
  const { params, client } = ctx.oidc;
  const claims = await verifiedAssertion(parts, String(params.assertion));
  if (claims.client_id !== undefined && claims.client_id !== client.clientId) {
    throw refuse('invalid_grant', 'The assertion is for another client.');
  }
  const jti = String(claims.jti ?? params.assertion);
  if (parts.seen.has(jti)) throw refuse('invalid_grant', 'The assertion was used before.');
  parts.seen.add(jti);
  const resource = params.resource ?? claims.resource;
  if (typeof resource !== 'string') throw refuse('invalid_target', 'The resource is missing.');
  const token = new provider.AccessToken({ accountId: String(claims.sub), client, gty: 'jwt-bearer' });
  token.resourceServer = parts.resourceServer(resource);
  const scope = params.scope ?? claims.scope;
  if (typeof scope === 'string') token.scope = scope;
  const value = await token.save();
  ctx.body = {
    access_token: value,
    token_type: token.tokenType,
    expires_in: token.expiration,
    ...(token.scope && { scope: token.scope }),
  };
}

async function verifiedAssertion({ issuer, trustedIssuers }: ExchangeParts, assertion: string) {
  for (const trusted of trustedIssuers) {
    try {
      const { payload } = await jwtVerify(assertion, trusted.publicJwk, { issuer: trusted.issuer, audience: issuer });
      return payload;
    } catch {
      // The next issuer may know it.
    }
  }
  throw refuse('invalid_grant', 'No trusted issuer signed the assertion for this server.');
}
