import * as z from 'zod';
import { address, celExpression, profileName, role } from './access-schema.ts';
import { JWT_ALGORITHMS } from './defaults.ts';

const issuers = z.strictObject({
  issuer: z
    .union([address, z.array(address).min(1)], 'must be a whole URL, or a list of them')
    .describe('Issuer of the tokens: one URL or several, exactly as in the `iss` claim.'),
  audience: z.string().min(1).describe('Required `aud` claim of tokens: the public address of `/mcp`.'),
  jwksUrl: address.exactOptional().describe('Address of the JWK set; from the issuer’s metadata, if absent.'),
  scopes: z
    .record(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope without spaces'), role)
    .default({})
    .describe('Role for each scope. Without an entry, every token has the role `user`.'),
  person: celExpression
    .exactOptional()
    .describe(
      'Condition in CEL over the `claims` of a token: if it is met, a person is behind the token, who may approve in the form of the client. No token, if absent.',
    ),
  algorithms: z
    .array(z.enum(JWT_ALGORITHMS))
    .min(1)
    .default([...JWT_ALGORITHMS])
    .describe('Accepted signature algorithms.'),
  clientId: z
    .string()
    .min(1)
    .exactOptional()
    .describe('Client id of the gateway at the issuer. With it a caller can prove its identity on the sign-in page.'),
  clientSecret: z.string().min(1).exactOptional().describe('Secret of that client.'),
});

/** The schema of `gateway.auth`. */
export const gatewayAuth = z
  .union([z.literal('none'), issuers], 'must be `"none"`, or an object with `issuer` and `audience`')
  .exactOptional()
  .describe(
    'Accepts tokens of an authorization server. `"none"` accepts clients on this machine without a credential.',
  );

/** The schema of `gateway.apiKeys`. */
export const apiKeys = z
  .array(
    z.strictObject({
      name: z
        .string()
        .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be up to 64 letters, digits, `.`, `-` and `_`')
        .describe('Name of the key; the caller is `key:<name>`.'),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key in 64 lower-case hex digits')
        .describe('SHA-256 of the key, in hex. The key itself is not stored.'),
      roles: z.array(role).min(1).default(['user']).describe('Roles of the caller.'),
      profile: profileName.exactOptional().describe('The only profile that the key may use.'),
      person: z
        .literal(true)
        .exactOptional()
        .describe('True if a person uses the key, who may approve in the form of the client.'),
    }),
  )
  .default([])
  .describe('API keys in addition to those of `heddle key create`.');
