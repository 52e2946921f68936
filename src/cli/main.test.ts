import { expect, it } from 'vitest';
import { VERSION } from '../core/version.ts';
import { deskWith } from './commands/fixtures.ts';

it('says its version however it is asked for it', async () => {
  const { heddle } = await deskWith();
  for (const way of ['--version', '-v', '-V']) {
    expect(await heddle([way])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  }
});

it('names an option that it does not know as it was typed', async () => {
  const { heddle } = await deskWith();
  expect((await heddle(['list', 'tools', '-j'])).stderr).toContain('There is no option -j.');
  expect((await heddle(['list', 'tools', '--jsn'])).stderr).toMatch(/There is no option --jsn\..*Did you mean --json/s);
});
