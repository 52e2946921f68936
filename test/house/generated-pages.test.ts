import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { errorsPage } from '../../tools/errors-page.ts';
import { requirementsPage } from '../../tools/requirements.ts';
import { verifies } from '../requirements.ts';
import { ROOT } from './temporary-tree.ts';

const page = (name: string) => readFileSync(join(ROOT, 'docs', name), 'utf8');

verifies('L5', 'docs/errors.md equals the output of `npm run docs`', () => {
  expect(page('errors.md')).toBe(errorsPage());
});

it('docs/requirements.md equals the output of `npm run requirements`', () => {
  expect(page('requirements.md')).toBe(requirementsPage(ROOT));
});
