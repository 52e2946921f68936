import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Settings } from '../../config/schema/schema.ts';
import type { Role } from '../../core/call.ts';
import { examineApprovalRules } from './examine-rules.ts';
import { countsWith, type Identities, impossibleStage } from './identities.ts';

const known = (keys: Readonly<Record<string, readonly Role[]>>, tokens: Partial<Identities> = {}): Identities => ({
  keys: new Map(Object.entries(keys).map(([id, roles]) => [id, { id, roles }])),
  tokenRoles: [],
  issuers: [],
  ...tokens,
});
const stage = (need: number, ...approvers: readonly string[]) => ({ approvers, need });

describe('the identities that exist', () => {
  verifies('G6', 'satisfy a rule if each stage gets identities of its own', () => {
    const two = known({ 'key:a': ['approver'], 'key:b': ['approver'] });
    expect(impossibleStage({ stages: [stage(2, 'role:approver')] }, two)).toBeUndefined();
    expect(impossibleStage({ stages: [stage(3, 'role:approver')] }, two)).toBe(0);
    // The first stage may take either key, the second only key:a.
    expect(impossibleStage({ stages: [stage(1, 'role:approver'), stage(1, 'key:a')] }, two)).toBeUndefined();
    expect(impossibleStage({ stages: [stage(2, 'role:approver'), stage(1, 'key:a')] }, two)).toBe(1);
    expect(impossibleStage({ stages: [stage(2, 'owner', 'local:ada', 'library')] }, two)).toBe(0);
    expect(impossibleStage({ stages: [stage(1, 'role:owner')], except: 'owner' }, two)).toBe(0);
  });

  verifies('G6', 'include the subjects of a configured issuer, and of no other', () => {
    const tokens = known({}, { issuers: ['https://id.example'], tokenRoles: ['approver'] });
    expect(impossibleStage({ stages: [stage(20, 'role:approver')] }, tokens)).toBeUndefined();
    expect(impossibleStage({ stages: [stage(1, 'https://id.example#ann')] }, tokens)).toBeUndefined();
    expect(impossibleStage({ stages: [stage(1, 'https://other.example#ann')] }, tokens)).toBe(0);
    expect(impossibleStage({ stages: [stage(2, 'https://id.example#ann')] }, tokens)).toBe(0);
  });

  verifies('G6', 'have to keep the roles of their decisions, and subjects their issuer', () => {
    const tokens = known({ 'key:ops': ['approver'] }, { issuers: ['https://id.example'], tokenRoles: ['approver'] });
    const counts = (by: string, identities: Identities) => countsWith(identities)({ by, at: 1, roles: ['approver'] });
    for (const by of ['key:ops', 'https://id.example#ann', 'owner', 'local:a#b']) expect(counts(by, tokens)).toBe(true);
    expect(counts('https://other.example#ann', tokens)).toBe(false);
    const demoted = known({ 'key:ops': ['user'] }, { issuers: ['https://id.example'], tokenRoles: ['user'] });
    for (const by of ['key:ops', 'https://id.example#ann', 'key:gone']) expect(counts(by, demoted)).toBe(false);
  });

  verifies('G6', 'are named in the finding about a rule that none can satisfy', () => {
    const rules = [{ name: 'ops', stages: [stage(1, 'role:owner'), stage(1, 'key:gone')] }];
    const settings = { approvals: { rules } } as unknown as Settings;
    expect(examineApprovalRules(settings, known({}))).toMatchObject([
      { level: 'error', subject: 'approvals', message: expect.stringContaining('stage 2 needs 1 of key:gone') },
    ]);
  });
});
