import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, modern, type TestResponse } from '../../src/gateway/fixtures.ts';
import type { GatewayOptions } from '../../src/gateway/open-gateway.ts';
import { type Issuer, openIssuer, type SigningKey, signedToken, signingKey } from './issuer.ts';
import { recordingServer, text } from './recording-server.ts';

export const AUDIENCE = 'https://gateway.example/mcp';
export const NOW = 1_800_000_000_000;
/** The current time of the tests in seconds, as in token claims. */
export const SECONDS = NOW / 1000;

interface TokenGatewayOptions {
  readonly keys?: readonly SigningKey[];
  readonly auth?: JsonObject;
  /** The path of the issuer URL. */
  readonly path?: string;
  readonly more?: JsonObject;
  readonly gateway?: Partial<GatewayOptions>;
}

/** Starts a gateway that accepts the tokens of one issuer, and returns functions that call it with any token. */
export async function tokenGateway(options: TokenGatewayOptions = {}) {
  const { keys = [signingKey('one')], auth = {}, path = '', more = {} } = options;
  const issuer = await openIssuer(
    keys.map(({ jwk }) => jwk),
    path,
  );
  const [key] = keys as [SigningKey];
  let now = NOW;
  const up = recordingServer({ echo: () => text('here') });
  const config = { gateway: { auth: { issuer: issuer.url, audience: AUDIENCE, ...auth } }, ...more };
  const gateway = await gatewayUnderTest({
    config,
    servers: { up },
    clock: () => now,
    ...(options.gateway && { gateway: options.gateway }),
  });
  const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'ada', exp: SECONDS + 300 };
  const callWithToken = (token: string): Promise<TestResponse> => {
    const [message, headers] = modern('tools/call', { name: 'mcp__up__echo', arguments: {} });
    return gateway.post(message, { ...headers, authorization: `Bearer ${token}` });
  };
  const callWithClaims = (changed: JsonObject = {}, header: JsonObject = {}) =>
    callWithToken(signedToken(key, { ...claims, ...changed }, header));
  const advanceSeconds = (seconds: number) => {
    now += seconds * 1000;
  };
  return { issuer, gateway, key, claims, up, callWithToken, callWithClaims, advanceSeconds };
}

/** Returns the number of `/jwks` requests. */
export const jwksRequests = ({ requestedPaths }: Issuer) => requestedPaths.filter((path) => path === '/jwks').length;
