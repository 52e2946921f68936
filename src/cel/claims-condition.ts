import type { JsonObject } from '../core/call.ts';
import { compileSource, MAX_PATTERN_INSTRUCTIONS } from './compile-source.ts';
import { type ExpressionProblem, suggestion } from './describe-error.ts';
import { type MeteredEnvironment, openEnvironment } from './environment.ts';

/** Tests the claims of a token. A condition that fails, such as for a missing claim, is not met. Never throws. */
export type ClaimsCondition = (claims: JsonObject) => boolean;

const VARIABLE = 'claims';
let opened: MeteredEnvironment | undefined;

/** Compiles a condition over `claims`. Returns a problem with its place if it is wrong. */
export function compileClaimsCondition(source: string): ClaimsCondition | ExpressionProblem {
  opened ??= openEnvironment((environment) => environment.registerVariable(VARIABLE, 'map<string, dyn>'));
  const { meter } = opened;
  const budget = { left: MAX_PATTERN_INSTRUCTIONS };
  const compiled = compileSource(opened, source, { budget, suggestName: (name) => suggestion(name, [VARIABLE]) });
  if ('message' in compiled) return compiled;
  const { type, run } = compiled;
  if (type !== 'bool') return { message: `it is of type ${type}, not bool`, fix: 'Write a condition.', offset: 0 };
  return function isMet(claims) {
    meter.reset();
    try {
      return run({ [VARIABLE]: claims }) === true && !meter.isExhausted;
    } catch {
      return false;
    }
  };
}
