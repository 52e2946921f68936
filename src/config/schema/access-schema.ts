import * as z from 'zod';
import { APPROVER_PATTERN, ROLES } from '../../core/call/caller.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import { isRulePattern, meantRule, RULE_FORMS } from '../../core/text/rule-pattern.ts';
import { JWT_ALGORITHMS, SETTING_DEFAULTS } from './defaults.ts';

const patterns = z.array(z.string().min(1));
// Any other text would match nothing, and a rule that denies would be without effect.
const toolPatterns = z.array(z.string().refine(isRulePattern, { error: ({ input }) => notARule(String(input)) }));
const rules = toolPatterns.default([]);

function notARule(text: string): string {
  const meant = meantRule(text);
  return meant === undefined ? `must be ${RULE_FORMS}` : `must be ${RULE_FORMS} (did you mean \`${meant}\`?)`;
}

const role = z.enum(ROLES);
const address = z.url({ protocol: /^https?$/ });

/** The schema of permission rules. */
export const permissions = z.strictObject({
  allow: rules.describe('Tools that run without an approval.'),
  ask: rules.describe('Tools that need an approval.'),
  deny: rules.describe('Tools that never run. Deny wins over ask, ask over allow.'),
});

const WORD = /^\p{L}[\p{L}\p{N}]{0,63}$/u;

const expression = z.string().min(1).max(10_000);
const label = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._ -]{0,99}$/, 'must be up to 100 letters, digits, `.`, `_`, `-` and spaces');
const secret = z.string().min(16, 'must have at least 16 characters');

/** The schema of one policy rule. */
export const policyRule = z.strictObject({
  name: label.describe('Name of the rule, unique among all rules.'),
  effect: z
    .enum(['allow', 'ask', 'deny'])
    .describe('Effect on the calls that match. Deny wins over ask, ask over allow.'),
  tools: toolPatterns.min(1).exactOptional().describe('Tools that it is about, as in `permissions`. All, if absent.'),
  callers: patterns
    .min(1)
    .exactOptional()
    .describe('Callers that it is about: `role:user`, `key:ci`, `<issuer>#<sub>`, `library/<agent>`. All, if absent.'),
  when: expression
    .exactOptional()
    .describe('Condition in CEL over `caller`, `tool`, `kind`, `args`, `annotations`, `taint` and `time`.'),
  reason: z.string().min(1).max(1000).describe('Reason for callers and approvers.'),
  shadow: z.boolean().exactOptional().describe('True only records the verdict.'),
});

/** The schema of `policies`. */
export const policies = z
  .array(policyRule)
  .max(10_000)
  .default([])
  .describe('Rules on callers, tools and arguments. The rules of all files and of `policies/` are combined.');

const approver = z
  .string()
  .regex(
    APPROVER_PATTERN,
    'must be `role:<role>`, `key:<name>`, `local:<user>`, `owner`, `library`, `library/<name>` or `<issuer>#<sub>`',
  );

/** Returns how many approvers there can be; the user of this machine has several names. A role has any number. */
function mostApprovers(approvers: readonly string[]): number {
  if (approvers.some((one) => one.startsWith('role:'))) return Number.POSITIVE_INFINITY;
  return new Set(approvers.map((id) => vaultPrincipal({ id, roles: ['owner'] }))).size;
}

const stage = z
  .strictObject({
    approvers: z.array(approver).min(1).max(100).describe('Identities that may decide in this stage.'),
    need: z.int().min(1).max(20).default(1).describe('Approvals that the stage needs, each of another identity.'),
  })
  .superRefine(({ approvers, need }, context) => {
    const most = mostApprovers(approvers);
    if (need <= most) return;
    const identities = most === 1 ? 'identity' : 'identities';
    const message = `is more than the ${most} ${identities} of \`approvers\`, each of which counts once`;
    context.addIssue({ code: 'custom', path: ['need'], message });
  });

const approvalRule = z.strictObject({
  name: label.describe('Name of the rule, unique among all rules.'),
  tools: toolPatterns.min(1).exactOptional().describe('Tools that it is about, as in `permissions`. All, if absent.'),
  callers: patterns.min(1).exactOptional().describe('Callers that it is about. All, if absent.'),
  when: expression.exactOptional().describe('Condition in CEL, as in `policies`.'),
  stages: z.array(stage).min(1).max(10).describe('Stages of the approval, in order.'),
  notRequester: z.boolean().default(false).describe('True if the requester may not approve.'),
  timeoutMs: z
    .int()
    .positive()
    .max(2_592_000_000)
    .exactOptional()
    .describe('Time to decide. `approvals.timeoutMs`, if absent.'),
  client: z.boolean().default(true).describe('False if the requester cannot approve by the form of its client.'),
  standing: z.boolean().default(true).describe('False if standing approvals do not settle such calls.'),
});

const standingRule = z.strictObject({
  tool: z.string().min(1).describe('Tool, as in `permissions`.'),
  callers: patterns.min(1).exactOptional().describe('Callers that it is about. All, if absent.'),
  arguments: z
    .record(z.string().min(1), z.string())
    .default({})
    .describe('Globs by argument path; `*` does not match `/`, and `..` never matches.'),
  expires: z.iso.datetime({ offset: true }).exactOptional().describe('Time at which it ends.'),
});

/** The schema of `approvals`. */
export const approvals = z.strictObject({
  sensitiveWords: z
    .array(z.string().regex(WORD, 'must be one word of letters and digits, such as `key`'))
    .default([])
    .describe(
      'Further words that make a call need an approval in mode `guarded`, in names and values of its arguments. The words of all files are combined.',
    ),
  timeoutMs: z
    .int()
    .positive()
    .max(2_592_000_000)
    .default(SETTING_DEFAULTS.approvals.timeoutMs)
    .describe('Time to decide, in milliseconds.'),
  keepOpenMs: z
    .int()
    .nonnegative()
    .max(3_600_000)
    .default(SETTING_DEFAULTS.approvals.keepOpenMs)
    .describe(
      'Time that the gateway keeps a request open for a decision, in milliseconds. It is 5 s at most if no approver is present and neither a webhook nor a hook `onApproval` is set.',
    ),
  rules: z
    .array(approvalRule)
    .max(1000)
    .default([])
    .describe('Approvers by tool and caller. The first that matches applies.'),
  standing: z.array(standingRule).max(1000).default([]).describe('Standing approvals.'),
  unattended: z.boolean().default(false).describe('True refuses calls that need an approval at once, as in CI.'),
  webhook: z
    .strictObject({
      url: address.describe('Address that gets a POST for each new approval.'),
      secret: secret.describe('Key of the signature in the header `Heddle-Signature`.'),
    })
    .exactOptional()
    .describe('Receiver of new approvals.'),
});

const amount = z.number().positive().finite();
const windows = z.strictObject({
  hour: amount.exactOptional().describe('Units per hour.'),
  day: amount.exactOptional().describe('Units per day.'),
  month: amount.exactOptional().describe('Units per month.'),
});

/** The schema of `budgets`. There is no default: without it costs are not limited. */
export const budgets = z.strictObject({
  perCaller: windows
    .exactOptional()
    .describe('Budget of each caller, in units of `costPerCall`; the windows are in UTC.'),
  callers: z
    .record(z.string().min(1), windows)
    .default({})
    .describe('Budgets of single callers, such as `key:ci`, and of agents of a program, such as `library/planner`.'),
  warnAt: z
    .number()
    .gt(0)
    .max(1)
    .default(SETTING_DEFAULTS.budgets.warnAt)
    .describe('Share of a budget that raises an event.'),
});

const hook = z
  .strictObject({
    tools: toolPatterns.min(1).exactOptional().describe('Tools that it is about, as in `permissions`. All, if absent.'),
    command: z
      .array(z.string().min(1))
      .min(1)
      .exactOptional()
      .describe('Program and its arguments. It reads JSON from stdin and writes JSON to stdout.'),
    url: address.exactOptional().describe('Address that gets a POST with JSON.'),
    secret: secret.exactOptional().describe('Key of the signature in the header `Heddle-Signature`.'),
    timeoutMs: z.int().positive().max(60_000).exactOptional().describe('Timeout in milliseconds. 5000, if absent.'),
  })
  .refine(
    ({ command, url }) => (command === undefined) !== (url === undefined),
    'must have one of `command` and `url`',
  );
const hookList = z.array(hook).max(100).default([]);

/** The schema of `hooks`. */
export const hookSettings = z.strictObject({
  beforeCall: hookList.describe('Run before each call. They may deny it, ask for an approval or change its arguments.'),
  afterCall: hookList.describe('Run after each call. They may withhold its result.'),
  beforeInputRequest: hookList.describe('Run before each input request of a server. They may deny it.'),
  afterInputResponse: hookList.describe('Run after each input response. They may withhold it.'),
  onApproval: hookList.describe('Run for each change of an approval. They change nothing.'),
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
  mode: z.enum(['guarded', 'strict', 'open']).exactOptional().describe('Stricter mode for callers of the profile.'),
  permissions: permissions
    .prefault({})
    .describe(
      'Rules for callers of the profile, in addition to the global rules. `allow` lifts only the mode of the profile.',
    ),
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
  person: expression
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
