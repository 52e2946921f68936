import * as z from 'zod';
import { ROLES } from '../../core/call/caller.ts';
import { JWT_ALGORITHMS, SETTING_DEFAULTS } from './defaults.ts';

const rules = z.array(z.string().min(1)).default([]);
const patterns = z.array(z.string().min(1));
const role = z.enum(ROLES);
const address = z.url({ protocol: /^https?$/ });

/** What runs, what asks and what never runs. */
export const permissions = z.strictObject({
  allow: rules.describe('Tools that run without asking.'),
  ask: rules.describe('Tools that ask first.'),
  deny: rules.describe('Tools that never run. Deny wins over ask, ask over allow.'),
});

const profileName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be up to 64 letters, digits, `-` and `_`');

const profile = z.strictObject({
  servers: patterns
    .exactOptional()
    .describe('Servers it has, by name; `*` stands for any characters. All when absent.'),
  categories: patterns.exactOptional().describe('Categories it has. All when absent.'),
  tools: patterns
    .exactOptional()
    .describe('Tools it has: `server.tool`, public name or the tool’s own; `*` stands for any characters.'),
  exclude: patterns.exactOptional().describe('Tools it does not have, whatever else says so; written like `tools`.'),
  naming: z
    .enum(['full', 'bare'])
    .default('full')
    .describe('Whether tools have their public names or, where nothing else looks like it, their own.'),
  exposure: z.literal('direct').default('direct').describe('How tools are offered: each as itself.'),
  permissions: permissions.prefault({}).describe('Rules for its callers, beside those for all.'),
  auth: z.literal('none').exactOptional().describe('Lets anybody on this machine in, and nobody from elsewhere.'),
});

/** The subsets of what there is, by name. */
export const profiles = z
  .record(profileName, profile)
  .default(SETTING_DEFAULTS.profiles)
  .describe('Named subsets, each served at `/mcp/<name>`.');

const issuers = z.strictObject({
  issuer: z
    .union([address, z.array(address).min(1)], 'must be a whole URL, or a list of them')
    .describe('Who issues the tokens: one address or several, exactly as their tokens say it.'),
  audience: z.string().min(1).describe('What tokens have to be made out for: the public address of `/mcp`.'),
  jwksUrl: address.exactOptional().describe('Where the keys are; found by the issuer’s metadata when absent.'),
  scopes: z
    .record(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope without spaces'), role)
    .default({})
    .describe('The role that each scope gives. Without any, every token gives `user`.'),
  algorithms: z
    .array(z.enum(JWT_ALGORITHMS))
    .min(1)
    .default([...JWT_ALGORITHMS])
    .describe('How tokens may be signed.'),
});

/** What `gateway.auth` may be. */
export const auth = z
  .union([z.literal('none'), issuers], 'must be `"none"`, or say the `issuer` and `audience` of tokens')
  .exactOptional()
  .describe('Accepts tokens of an authorization server; `"none"` lets anybody on this machine in.');

/** What `gateway.apiKeys` may be. */
export const apiKeys = z
  .array(
    z.strictObject({
      name: z
        .string()
        .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be up to 64 letters, digits, `.`, `-` and `_`')
        .describe('Who has it; the caller is `key:<name>`.'),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key in 64 lower-case hex digits')
        .describe('SHA-256 of the key, in hex. The key itself is written nowhere.'),
      roles: z.array(role).min(1).default(['user']).describe('What it may do.'),
      profile: profileName.exactOptional().describe('The only profile it opens.'),
    }),
  )
  .default([])
  .describe('Keys besides those of `heddle key create`.');
