import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { compileClaimsCondition } from '../../cel/claims-condition.ts';
import { personTest } from './token-person.ts';

verifies('G7', 'compiles the condition for persons once per gateway and source', () => {
  const compiled: string[] = [];
  const compile = (source: string) => {
    compiled.push(source);
    return compileClaimsCondition(source);
  };
  const [one, other] = [personTest(compile), personTest(compile)];
  for (let request = 0; request < 3; request++) {
    expect(one('claims.kind == "user"', { kind: 'user' })).toBe(true);
    expect(other('claims.kind == "staff"', { kind: 'user' })).toBe(false);
  }
  expect(compiled).toEqual(['claims.kind == "user"', 'claims.kind == "staff"']);
  expect(one('claims.kind ==', { kind: 'user' })).toBe(false);
  expect(one('claims.kind == "user"', { kind: 'user' })).toBe(true);
});
