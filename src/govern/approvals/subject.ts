import { randomBytes } from 'node:crypto';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { DecidedCall, InputResponses } from '../../core/call.ts';
import type { ApprovalSubject } from '../../core/records/approval.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { sensitiveIn, sensitiveWord } from '../sensitive.ts';
import { approvalKind, digestOf } from './binding.ts';
import type { ApprovalPlan } from './next-approval.ts';

// Lower-case base32 without the characters that look alike.
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const ID_CHARS = 16;
const ROUTINE = 'routine';

/** Returns an id with 80 random bits: a prefix and 16 characters. */
export const newApprovalId = (prefix: 'ap' | 'st'): string =>
  `${prefix}_${Array.from(randomBytes(ID_CHARS), (byte) => ALPHABET[byte % ALPHABET.length]).join('')}`;

export interface NewApproval {
  readonly plan: ApprovalPlan;
  readonly binding: string;
  readonly inputResponses: InputResponses | undefined;
  readonly now: number;
  /** Returns the file and line of a server's entry. */
  readonly fileOf: (server: string) => string | undefined;
  /** The id of an earlier call of the same binding that may have run. */
  readonly earlierCall?: string | undefined;
  /** The preview lines of its tool. */
  readonly preview?: readonly string[] | undefined;
}

/** Creates the pending approval of a call. */
export function newApproval(call: DecidedCall, options: NewApproval): StoredApproval {
  const { plan, binding, now, earlierCall } = options;
  const { caller, decision } = call;
  const { stages, notRequester, allowsStanding, approvalRule, timeoutMs } = plan;
  return {
    id: newApprovalId('ap'),
    status: 'pending',
    subject: subjectOf(call, options),
    requestedBy: caller.id,
    via: caller.via,
    requestedAt: now,
    expiresAt: now + timeoutMs,
    reasons: reasonsFor(call),
    rule: decision.rule,
    ...{ stages, notRequester, allowsStanding, binding },
    decisions: [],
    principal: vaultPrincipal(caller),
    version: 1,
    ...(approvalRule !== undefined && { approvalRule }),
    ...(caller.profile !== undefined && { profile: caller.profile }),
    ...(caller.agent !== undefined && { agent: caller.agent }),
    ...(caller.session !== undefined && { session: caller.session }),
    ...(earlierCall !== undefined && { earlierCall }),
  };
}

function subjectOf(call: DecidedCall, { inputResponses, fileOf, preview }: NewApproval): ApprovalSubject {
  const { target, input, extraParams, meta, hooked, fence } = call;
  const { description } = target.definition;
  const located = target.servers.flatMap((server) => {
    const file = fileOf(server);
    return file === undefined ? [] : [[server, file] as const];
  });
  return {
    kind: approvalKind(call),
    name: target.publicName,
    servers: target.servers,
    digest: target.digest,
    riskLevel: target.facts.riskLevel,
    ...(target.facts.destructive && { isDestructive: true }),
    arguments: input,
    inputDigest: digestOf(input),
    ...(fence && { run: { id: fence.run, path: fence.path } }),
    ...(typeof description === 'string' && { description }),
    ...(located.length > 0 && { files: Object.fromEntries(located) }),
    ...(target.facts.requires && { requires: target.facts.requires }),
    ...(extraParams && { extraParams }),
    ...(Object.keys(meta).length > 0 && { meta }),
    ...(inputResponses && { inputResponses }),
    ...(hooked?.original && { changedByHooks: hooked.original }),
    ...(target.facts.approval === 'always' && { alwaysAsks: true }),
    ...(preview && { preview }),
  };
}

/** Returns every reason why a call may be risky; `routine` if only a mode or a rule asks. */
export function reasonsFor(call: DecidedCall): readonly string[] {
  const { target, decision, hooked, input, meta, extraParams, sampling } = call;
  const { facts, kind, name } = target;
  const inName = kind === 'tool' ? sensitiveWord({ [name]: null }, false) : undefined;
  const inArguments = sensitiveIn({ input, meta, ...(extraParams && { extraParams }) }, !facts.readOnly);
  const found = [
    sampling ? decision.reason : undefined,
    decision.rule.startsWith('policies') ? decision.reason : undefined,
    hooked?.asks,
    facts.requiresApproval ? 'The tool requires approval.' : undefined,
    facts.destructive ? 'The tool is destructive.' : undefined,
    facts.riskLevel === 'high' ? 'The tool is of high risk.' : undefined,
    inName && `The name of the tool sounds destructive: ${inName}.`,
    inArguments,
    decision.rule === 'approvals.sensitiveWords' ? decision.reason : undefined,
  ].filter((reason) => reason !== undefined && reason !== '');
  const reasons = [...new Set(found as readonly string[])];
  return reasons.length > 0 ? reasons : [ROUTINE];
}
