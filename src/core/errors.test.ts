import { expect, it } from 'vitest';
import { ERRORS, type ErrorCode } from './error-codes.ts';
import { HeddleError, UpstreamError } from './errors.ts';

it('recognises errors of another copy of Heddle by their brand', async () => {
  const copy: typeof import('./errors.ts') = await import(`./errors.ts?${'copy'}`);
  const theirs = new copy.HeddleError('RATE_LIMITED', 'slow down');
  expect(theirs).not.toBeInstanceOf(HeddleError);
  expect(HeddleError.is(theirs)).toBe(true);
  expect(HeddleError.from(theirs)).toBe(theirs);
});

it.each([new Error('x'), 'text', null, undefined, { code: 'RATE_LIMITED' }, 7])('takes %s for a stranger', (thrown) => {
  expect(HeddleError.is(thrown)).toBe(false);
  const error = HeddleError.from(thrown);
  expect([error.code, ERRORS[error.code].exit, error.fault, error.cause]).toEqual(['INTERNAL', 70, 'internal', thrown]);
  expect(error.message).not.toContain('x');
});

it('has the fix of its code unless another is set', () => {
  expect(new HeddleError('NAME_UNKNOWN', 'none').fix).toBe(ERRORS.NAME_UNKNOWN.fix);
  expect(new HeddleError('NAME_UNKNOWN', 'none', { fix: 'Look.' }).fix).toBe('Look.');
  expect(new UpstreamError('UPSTREAM_FAILED', 'lost', { delivered: 'maybe' })).toMatchObject({
    fault: 'upstream',
    delivered: 'maybe',
    details: {},
  });
});

it.each(Object.keys(ERRORS) as ErrorCode[])('%s has whole sentences in `when` and `fix`', (code) => {
  expect(ERRORS[code].when).toMatch(/^\S.*\.$/);
  expect(ERRORS[code].fix).toMatch(/^\S.*\.$/);
});
