import type { PolicyApi } from '../../heddle.ts';
import type { RunningParts } from '../running-parts.ts';
import type { PolicyCheckOptions } from './decided-check.ts';
import type { SimulationOptions } from './simulate-calls.ts';

type PolicyParts = Pick<RunningParts, 'active' | 'catalog' | 'store' | 'wallClock'>;

/** Returns the policy part of Heddle. Its functions are loaded on use: calls need none of them. */
export function policyApi(
  { active, catalog, store, wallClock }: PolicyParts,
  describe: PolicyCheckOptions['describe'],
): PolicyApi {
  const settings = () => active().config.settings;
  const { keys, audit, standing } = store;
  const options: PolicyCheckOptions & SimulationOptions = {
    active,
    catalog,
    keys,
    audit,
    settings,
    describe,
    standing,
    clock: wallClock,
  };
  return {
    async permissions(by, subject) {
      const { entryPermissions } = await import('./entry-permissions.ts');
      return entryPermissions(options, by, subject);
    },
    async overriding(by, rule) {
      const { overridingRule } = await import('./overriding-rule.ts');
      return overridingRule(options, by, rule);
    },
    async check(by, call) {
      const { checkCall } = await import('./check-call.ts');
      return checkCall(options, by, call);
    },
    async simulate(by, simulated) {
      const { simulateCalls } = await import('./simulate-calls.ts');
      return simulateCalls(options, by, simulated);
    },
  };
}
