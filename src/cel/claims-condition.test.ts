import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { compileClaimsCondition } from './claims-condition.ts';

const CLAIMS = { sub: 'ada', amr: ['pwd', 'otp'], level: 2, realm: { roles: ['staff'] } };

function isMet(source: string): boolean | string {
  const condition = compileClaimsCondition(source);
  return 'message' in condition ? condition.message : condition(CLAIMS);
}

verifies('G7', 'tests claims of every JSON type, and is not met if one is missing or of another type', () => {
  for (const source of [
    "'otp' in claims.amr",
    "claims.amr.exists(one, one == 'pwd')",
    'claims.level >= 2',
    "has(claims.realm) && 'staff' in claims.realm.roles",
    "claims.sub.startsWith('a')",
  ]) {
    expect([source, isMet(source)]).toEqual([source, true]);
  }
  for (const source of ['claims.missing', 'claims.sub', "'x' in claims.sub", "claims['client_id'] == 'bot'"]) {
    expect([source, isMet(source)]).not.toEqual([source, true]);
  }
});

verifies('G7', 'names what is wrong with a condition, and is not met if it takes too many steps', () => {
  expect(isMet('claims.sub ==')).toMatch(/./);
  expect(isMet("'text'")).toBe('it is of type string, not bool');
  expect(isMet('caller.id == "a"')).toContain('caller');
  const many = { all: Array.from({ length: 5000 }, (_, at) => at) };
  const condition = compileClaimsCondition('claims.all.all(a, claims.all.all(b, a + b >= 0))');
  expect('message' in condition || condition(many)).toBe(false);
});
