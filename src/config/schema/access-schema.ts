import * as z from 'zod';
import { ROLES } from '../../core/call/caller.ts';
import { JWT_ALGORITHMS, SETTING_DEFAULTS } from './defaults.ts';

const rules = z.array(z.string().min(1)).default([]);
const patterns = z.array(z.string().min(1));
const role = z.enum(ROLES);
const address = z.url({ protocol: /^https?$/ });

/** The schema of permission rules. */
export const permissions = z.strictObject({
  allow: rules.describe('Tools that run without an approval.'),
  ask: rules.describe('Tools that need an approval.'),
  deny: rules.describe('Tools that never run. Deny wins over ask, ask over allow.'),
});

const WORD = /^\p{L}[\p{L}\p{N}]{0,63}$/u;

/** The schema of `approvals`. */
export const approvals = z.strictObject({
  sensitiveWords: z
    .array(z.string().regex(WORD, 'must be one word of letters and digits, such as `key`'))
    .default([])
    .describe(
      'Further words that make a call need an approval in mode `guarded`, in names and values of its arguments. The words of all files are combined.',
    ),
});

const profileName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be up to 64 letters, digits, `-` and `_`');

const profile = z.strictObject({
  servers: patterns
    .exactOptional()
    .describe('Servers in the profile, by name; `*` matches any characters. All, if absent.'),
  categories: patterns.exactOptional().describe('Categories in the profile. All, if absent.'),
  tools: patterns
    .exactOptional()
    .describe('Tools in the profile: `server.tool`, public name or the tool’s own name; `*` matches any characters.'),
  exclude: patterns
    .exactOptional()
    .describe('Tools that are not in the profile, written like `tools`. This list wins over the others.'),
  naming: z
    .enum(['full', 'bare'])
    .default('full')
    .describe('`full` lists tools by their public names; `bare` by their own names, if these are unambiguous.'),
  maxDescriptionChars: z
    .int()
    .min(32)
    .exactOptional()
    .describe('Longest description of a tool, resource or prompt in lists; a longer one is cut. Whole, if absent.'),
  exposure: z.literal('direct').default('direct').describe('How tools are listed: `direct` lists each tool.'),
  permissions: permissions.prefault({}).describe('Rules for callers of the profile, in addition to the global rules.'),
  auth: z
    .literal('none')
    .exactOptional()
    .describe('Accepts clients on this machine without a credential, and no others.'),
});

/** The schema of `profiles`: subsets of the catalog, by name. */
export const profiles = z
  .record(profileName, profile)
  .default(SETTING_DEFAULTS.profiles)
  .describe('Named subsets, each served at `/mcp/<name>`.');

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
    }),
  )
  .default([])
  .describe('API keys in addition to those of `heddle key create`.');
