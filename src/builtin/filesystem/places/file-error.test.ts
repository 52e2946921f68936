import { expect, it } from 'vitest';
import { ToolFailure } from '../../tool-failure.ts';
import { explainFileError } from './file-error.ts';

const failure = (code: string) => Object.assign(new Error(`${code}: /private/path`), { code });

it.each([
  ['EACCES', /may not be written by this server/],
  ['EPERM', /may not be written by this server/],
  ['EROFS', /mounted read-only/],
  ['ENOSPC', /the disk is full\. Nothing has changed/],
  ['EDQUOT', /quota is used up\. Nothing has changed/],
  ['ENOENT', /directory that does not exist/],
  ['EBUSY', /in use by the system.*Nothing has changed/],
])('explains %s of a write with reason, fix and roots, and without paths of the machine', (code, reason) => {
  const explained = explainFileError(failure(code), { path: 'a/b', roots: '/srv', writes: true });
  expect(explained).toBeInstanceOf(ToolFailure);
  const { message } = explained as Error;
  expect(message).toMatch(reason);
  expect(message).toMatch(/^"a\/b" .* Allowed roots: \/srv\.$/);
  expect(message).not.toContain('/private/path');
});

it('explains EACCES of a read, and leaves unknown errors as they are', () => {
  const context = { path: 'a', roots: '/srv' };
  expect(explainFileError(failure('EACCES'), context)).toMatchObject({
    message: expect.stringMatching(/may not be read/),
  });
  const unknown = failure('EIO');
  expect(explainFileError(unknown, context)).toBe(unknown);
});
