import * as z from 'zod';
import { APPROVER_PATTERN, ROLES } from '../../core/call/caller.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import { isRulePattern, meantRule, RULE_FORMS } from '../../core/text/rule-pattern.ts';
import { SETTING_DEFAULTS } from './defaults.ts';

const patterns = z.array(z.string().min(1));
// Any other text would match nothing, and a rule that denies would be without effect.
const toolPatterns = z.array(z.string().refine(isRulePattern, { error: ({ input }) => notARule(String(input)) }));
const rules = toolPatterns.default([]);

function notARule(text: string): string {
  const meant = meantRule(text);
  return meant === undefined ? `must be ${RULE_FORMS}` : `must be ${RULE_FORMS} (did you mean \`${meant}\`?)`;
}

export const role = z.enum(ROLES);
export const address = z.url({ protocol: /^https?$/ });

/** The schema of permission rules. */
export const permissions = z.strictObject({
  allow: rules.describe('Tools that run without an approval.'),
  ask: rules.describe('Tools that need an approval.'),
  deny: rules.describe('Tools that never run. Deny wins over ask, ask over allow.'),
});

const WORD = /^\p{L}[\p{L}\p{N}]{0,63}$/u;

export const celExpression = z.string().min(1).max(10_000);
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
  when: celExpression
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
  when: celExpression.exactOptional().describe('Condition in CEL, as in `policies`.'),
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

export const profileName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be up to 64 letters, digits, `-` and `_`');

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
  instructions: z
    .union(
      [
        z.enum(['join', 'off']),
        z.strictObject({ text: z.string().min(1).max(4096).describe('Instructions to show.') }),
      ],
      'must be `"join"`, `"off"` or an object with `text`',
    )
    .exactOptional()
    .describe(
      '`instructions` for clients: `join` has a section for each server of the profile, at most 4,096 characters in all; `off` has none; `{"text": "…"}` is shown instead. `join`, if absent.',
    ),
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
