import { expect, it } from 'vitest';
import type { Abilities, Caller } from '../core/call.ts';
import { ableCaller, concerns } from './able-caller.ts';

const ann: Caller = { id: 'ann', roles: ['user'], via: 'gateway' };
const FORM: Abilities = { form: true, url: false, sampling: false, samplingTools: false, roots: false };

it('is the same object for the same abilities', () => {
  expect(ableCaller(ann, { ...FORM })).toBe(ableCaller(ann, FORM));
  expect(ableCaller(ann, FORM)).toEqual({ ...ann, can: FORM });
  expect(ableCaller(ann, { ...FORM, url: true })).not.toBe(ableCaller(ann, FORM));
});

it('a change concerns everybody, or those who can be asked just this', () => {
  const change = (detail: { abilities?: number }) => ({ kind: 'catalog', subject: 'tools', detail }) as const;
  expect([undefined, FORM].map((can) => concerns(change({}), can))).toEqual([true, true]);
  expect([undefined, FORM].map((can) => concerns(change({ abilities: 1 }), can))).toEqual([false, true]);
});
