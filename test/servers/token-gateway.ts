import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, modern, type TestResponse } from '../../src/gateway/fixtures.ts';
import type { GatewayOptions } from '../../src/gateway/open-gateway.ts';
import { type Issuer, openIssuer, type SigningKey, signedToken, signingKey } from './issuer.ts';
import { recordingServer, text } from './recording-server.ts';

export const AUDIENCE = 'https://gateway.example/mcp';
export const NOW = 1_800_000_000_000;
/** When the tests happen, as tokens count. */
export const SECONDS = NOW / 1000;

interface Setting {
  readonly keys?: readonly SigningKey[];
  readonly auth?: JsonObject;
  /** Where the issuer's name ends. */
  readonly path?: string;
  readonly more?: JsonObject;
  readonly gateway?: Partial<GatewayOptions>;
}

/** A gateway that accepts the tokens of one real issuer, and a way to come with any token. */
export async function tokenGateway(setting: Setting = {}) {
  const { keys = [signingKey('one')], auth = {}, path = '', more = {} } = setting;
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
    ...(setting.gateway && { gateway: setting.gateway }),
  });
  const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'ada', exp: SECONDS + 300 };
  const come = (token: string): Promise<TestResponse> => {
    const [message, headers] = modern('tools/call', { name: 'mcp__up__echo', arguments: {} });
    return gateway.post(message, { ...headers, authorization: `Bearer ${token}` });
  };
  const comeWith = (said: JsonObject = {}, header: JsonObject = {}) =>
    come(signedToken(key, { ...claims, ...said }, header));
  const later = (seconds: number) => {
    now += seconds * 1000;
  };
  return { issuer, gateway, key, claims, up, come, comeWith, later };
}

/** How often it was asked for its keys. */
export const jwksAsked = ({ asked }: Issuer) => asked.filter((path) => path === '/jwks').length;
