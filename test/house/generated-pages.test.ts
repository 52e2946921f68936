import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { errorsPage } from '../../tools/errors-page.ts';
import { requirementsPage } from '../../tools/requirements.ts';
import { verifies } from '../requirements.ts';
import { ROOT } from './temporary-tree.ts';

const page = (name: string) => readFileSync(join(ROOT, 'docs', name), 'utf8');

verifies('L5', 'every error code has its section in docs/errors.md, as `npm run docs` writes it', () => {
  expect(page('errors.md')).toBe(errorsPage());
});

it('docs/requirements.md is what `npm run requirements` writes', () => {
  expect(page('requirements.md')).toBe(requirementsPage(ROOT));
});
