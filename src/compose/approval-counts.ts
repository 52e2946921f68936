import { listAllTargets } from '../catalog/list.ts';
import type { LiveCatalog } from '../catalog/live-catalog.ts';
import { requireRole } from '../core/call/caller.ts';
import type { Caller, Target } from '../core/call.ts';
import type { ApprovalCount } from '../core/records/approval-count.ts';
import { decider, type Policy } from '../govern/decide.ts';
import type { ActiveConfig } from './active-config.ts';

interface CountOptions {
  readonly catalog: LiveCatalog;
  readonly active: () => ActiveConfig;
}

/** Counts the known tools that need approval, by server or pool. Starts no server and ignores arguments. */
export function countApprovals({ catalog, active }: CountOptions, by: Caller): readonly ApprovalCount[] {
  requireRole(by, ['owner', 'operator', 'auditor']);
  const { decide, policy } = active();
  const tools = listAllTargets(catalog.current(by), 'tool').filter(({ invalid }) => invalid === undefined);
  const visible = tools.filter((target) => decide(by, target).effect !== 'deny');
  const byGroup = Map.groupBy(visible, ({ group, servers: [first] }) => group ?? first);
  return [...byGroup].map(([group, targets]) => {
    const needing = targets.filter((target) => decide(by, target).effect === 'ask');
    const servers = [...new Set(targets.flatMap((target) => target.servers))];
    const asksWith = (allow: readonly string[]) => {
      const decideAgain = decider(withAllowed(policy, allow));
      return needing.map((target) => decideAgain(by, target)).filter(({ effect }) => effect === 'ask');
    };
    const isAllowed = (rule: string) => {
      const decideAgain = decider(withAllowed(policy, [rule]));
      return needing.some((one) => one.publicName === rule && decideAgain(by, one).effect === 'allow');
    };
    // `mcp__a__b` could be the tool b of server a; `mcp__a__b__*` is the server a__b.
    const candidates = [[], [group], servers, servers.map((name) => `${name}__*`)];
    const tried = candidates.map((names) => {
      const allow = names.map((name) => `mcp__${name}`);
      return { allow, left: asksWith(allow) };
    });
    const { allow, left } = tried.reduce((best, one) => (one.left.length < best.left.length ? one : best));
    const leftBy = [...new Set(left.map(({ rule }) => rule))];
    const counts = { tools: targets.length, needApproval: needing.length, left: left.length };
    return {
      group,
      servers,
      ...counts,
      allow,
      leftBy,
      allowMild: needing.filter(isMild).map(nameOf).filter(isAllowed),
    };
  });
}

const isMild = ({ facts }: Target): boolean => !facts.destructive && facts.riskLevel !== 'high';
const nameOf = ({ publicName }: Target): string => publicName;

const withAllowed = (policy: Policy, rules: readonly string[]): Policy => ({
  ...policy,
  permissions: { ...policy.permissions, allow: [...policy.permissions.allow, ...rules] },
});
