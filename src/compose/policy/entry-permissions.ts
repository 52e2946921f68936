import { listAllTargets } from '../../catalog/list.ts';
import type { LiveCatalog } from '../../catalog/live-catalog.ts';
import type { Caller } from '../../core/call.ts';
import type { EntryPermission, PolicySubject } from '../../core/records/policy.ts';
import { ruleSet } from '../../govern/policy/rule-set.ts';
import type { ActiveConfig } from '../active-config.ts';
import { ruleLocations } from './rule-locations.ts';
import { OVERSEERS, type SubjectOptions, subjectCaller } from './subject-caller.ts';

export interface PermissionOptions extends SubjectOptions {
  readonly catalog: LiveCatalog;
  readonly active: () => ActiveConfig;
}

const KINDS = ['tool', 'prompt', 'resource', 'template'] as const;

/**
 * Lists the effect of the rules on every known entry, by the same `decide` as lists and calls. A caller without the
 * role of an overseer does not see the entries that are hidden from it.
 */
export async function entryPermissions(
  options: PermissionOptions,
  by: Caller,
  subject: PolicySubject,
): Promise<readonly EntryPermission[]> {
  const caller = await subjectCaller(options, by, subject);
  const { config, decide, policy } = options.active();
  const rules = ruleSet(policy.rules ?? [], { groups: policy.groups });
  const locate = await ruleLocations(config);
  const seesHidden = by.roles.some((role) => OVERSEERS.includes(role));
  const known = options.catalog.current(caller);
  return KINDS.flatMap((kind) => listAllTargets(known, kind)).flatMap((target): EntryPermission[] => {
    if (target.invalid !== undefined) return [];
    const { effect, rule, reason } = decide(caller, target);
    if (effect === 'deny' && !seesHidden) return [];
    const at = locate(rule);
    // A rule on arguments, labels or time cannot lift a static denial.
    const depends = effect === 'deny' ? [] : (rules?.dynamicFor(target) ?? []);
    const { kind, publicName: name } = target;
    return [{ kind, name, effect, rule, reason, ...(at && { at }), ...(depends.length > 0 && { depends }) }];
  });
}
