import { type ClaimsCondition, compileClaimsCondition } from '../../cel/claims-condition.ts';
import type { Settings } from '../../config/schema/schema.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Finding } from '../../core/records/finding.ts';

const NEVER: ClaimsCondition = () => false;

/**
 * Returns the test of whether a verified token has a person behind it, by `gateway.auth.person`. An invalid condition means
 * none. Keeps the last condition compiled, so each gateway has its own test.
 */
export function personTest(compile = compileClaimsCondition): (source: string, claims: JsonObject) => boolean {
  let current: { readonly source: string; readonly condition: ClaimsCondition } | undefined;
  return function isPerson(source, claims) {
    if (current?.source !== source) {
      const compiled = compile(source);
      current = { source, condition: 'message' in compiled ? NEVER : compiled };
    }
    return current.condition(claims);
  };
}

/** Reports an invalid `gateway.auth.person`: then no token has a person. */
export function examinePerson({ gateway: { auth } }: Pick<Settings, 'gateway'>): readonly Finding[] {
  if (auth === undefined || auth === 'none' || auth.person === undefined) return [];
  const compiled = compileClaimsCondition(auth.person);
  if (!('message' in compiled)) return [];
  const message = `\`gateway.auth.person\` is not valid: ${compiled.message}. No token has a person behind it.`;
  return [{ level: 'error', subject: 'gateway', message, fix: compiled.fix }];
}
