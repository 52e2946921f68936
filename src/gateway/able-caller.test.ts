import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Abilities, Caller, JsonObject } from '../core/call.ts';
import { userKey } from '../core/private-user.ts';
import { ableCaller, concerns } from './able-caller.ts';

const ann: Caller = { id: 'ann', roles: ['user'], via: 'gateway' };
const FORM: Abilities = { form: true, url: false, sampling: false, samplingTools: false, roots: false };

it('is the same object for the same abilities and era', () => {
  expect(ableCaller(ann, { ...FORM }, 'legacy')).toBe(ableCaller(ann, FORM, 'legacy'));
  expect(ableCaller(ann, FORM, 'legacy')).toEqual({ ...ann, can: FORM, era: 'legacy' });
  expect(ableCaller(ann, { ...FORM, url: true }, 'legacy')).not.toBe(ableCaller(ann, FORM, 'legacy'));
  expect(ableCaller(ann, FORM, 'modern')).not.toBe(ableCaller(ann, FORM, 'legacy'));
});

const change = (detail: JsonObject) => ({ kind: 'catalog', subject: 'tools', detail }) as const;
const client = (callerId: string, can?: Abilities) => ({ callerId, can, era: 'legacy' }) as const;

it('a change concerns everybody, or those who can be asked just this', () => {
  const both = [client('ann'), client('ann', FORM)];
  expect(both.map((one) => concerns(change({}), one))).toEqual([true, true]);
  expect(both.map((one) => concerns(change({ abilities: 1 }), one))).toEqual([false, true]);
});

verifies('P1', 'a change on a private connection concerns no other principal, capability set or era', () => {
  const own = change({ user: userKey({ principal: 'ann', abilities: 1, era: 'legacy' }) });
  const others = [client('ann'), client('bob', FORM), client('ann', { ...FORM, url: true })];
  expect(concerns(own, client('ann', FORM))).toBe(true);
  expect(concerns(own, { ...client('ann', FORM), era: 'modern' })).toBe(false);
  expect(others.map((one) => concerns(own, one))).toEqual([false, false, false]);
});
