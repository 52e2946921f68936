import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { NOT_SIGNED_IN, reduceSignIn, type SignInEvent } from './sign-in-state.ts';

const refusal = { at: 100, until: 1000, reason: 'demo wants a credential.', scopes: ['read'] };
const refused = (at = 100): SignInEvent => ({ kind: 'refused', ...refusal, at, until: at + 900 });
const after = (...events: SignInEvent[]) => events.reduce(reduceSignIn, NOT_SIGNED_IN);

verifies('A1', 'needs a sign-in after a refusal, until it ends', () => {
  const needed = after(refused());
  expect(needed).toEqual({ state: 'needed', at: 100, refusal });
  expect(reduceSignIn(needed, { kind: 'passed', at: 999 })).toBe(needed);
  expect(reduceSignIn(needed, { kind: 'passed', at: 1000 })).toEqual({ state: 'none', at: 1000 });
});

verifies('A1', 'keeps the first of several refusals', () => {
  const needed = after(refused());
  expect(reduceSignIn(needed, refused(200))).toBe(needed);
  expect(reduceSignIn(needed, refused(1000))).toMatchObject({ state: 'needed', at: 1000 });
});

verifies('A1', 'ends a refusal with tokens that were received later, and not with older ones', () => {
  const needed = after(refused());
  expect(reduceSignIn(needed, { kind: 'granted', at: 99 })).toBe(needed);
  expect(reduceSignIn(needed, { kind: 'granted', at: 100 })).toEqual({ state: 'signed-in', at: 100 });
  expect(after({ kind: 'granted', at: 300 }, refused(200)).state).toBe('signed-in');
  expect(after({ kind: 'granted', at: 100 }, refused(200)).state).toBe('needed');
});

it('stays in progress when requests are refused meanwhile', () => {
  const begun = after(refused(), { kind: 'begun', at: 150, until: 600 });
  expect(begun).toMatchObject({ state: 'in-progress', until: 600, refusal });
  expect(reduceSignIn(begun, refused(200)).state).toBe('in-progress');
  expect(reduceSignIn(begun, { kind: 'granted', at: 300 })).toEqual({ state: 'signed-in', at: 300 });
});

it('falls back to the refusal when a sign-in gets no callback in time', () => {
  const begun = after(refused(), { kind: 'begun', at: 150, until: 600 });
  expect(reduceSignIn(begun, { kind: 'passed', at: 599 })).toBe(begun);
  expect(reduceSignIn(begun, { kind: 'passed', at: 600 })).toEqual({ state: 'needed', at: 100, refusal });
  expect(reduceSignIn(begun, { kind: 'passed', at: 1000 })).toEqual({ state: 'none', at: 1000 });
});

it('has failed only after a sign-in that was in progress', () => {
  const failed: SignInEvent = { kind: 'failed', at: 300, reason: 'access_denied' };
  expect(after(failed)).toBe(NOT_SIGNED_IN);
  const over = after(refused(), { kind: 'begun', at: 150, until: 600 }, failed);
  expect(over).toMatchObject({ state: 'failed', reason: 'access_denied', refusal });
  expect(reduceSignIn(over, { kind: 'passed', at: 2000 }).state).toBe('none');
});

it('knows nothing after the tokens were removed', () => {
  expect(after({ kind: 'granted', at: 1 }, { kind: 'forgotten', at: 5 })).toEqual({ state: 'none', at: 5 });
});
