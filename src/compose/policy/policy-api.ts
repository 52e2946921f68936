import type { PolicyApi } from '../../heddle.ts';
import type { PermissionOptions } from './entry-permissions.ts';

/** Returns the policy part of Heddle. Its functions are loaded on use: calls need none of them. */
export function policyApi(options: PermissionOptions): Pick<PolicyApi, 'permissions' | 'overriding'> {
  return {
    async permissions(by, subject) {
      const { entryPermissions } = await import('./entry-permissions.ts');
      return entryPermissions(options, by, subject);
    },
    async overriding(by, rule) {
      const { overridingRule } = await import('./overriding-rule.ts');
      return overridingRule(options, by, rule);
    },
  };
}
