import { expect, it } from 'vitest';
import { findCitations } from '../../tools/citations.ts';
import { REQUIREMENTS } from '../requirements.ts';
import { ROOT, temporaryTree } from './temporary-tree.ts';

const citations = findCitations(ROOT);

it('every requirement that is done has a test that cites it', () => {
  const claimed = Object.entries(REQUIREMENTS).flatMap(([id, { done }]) => (done ? [id] : []));
  expect(claimed.filter((id) => !citations.has(id))).toEqual([]);
});

it('every cited requirement exists', () => {
  expect([...citations.keys()].filter((id) => !(id in REQUIREMENTS))).toEqual([]);
});

it('finds citations across line breaks, and does not count the list itself', () => {
  const cite = 'verifies';
  const folder = temporaryTree({
    written: {
      'src/core/a.test.ts': `${cite}('C1', 'x', () => {});\n${cite}(\n  'C2',\n  'y', () => {});\n`,
      'test/b.test.ts': `${cite}('C1', 'z', () => {});\n${cite}('C1', 'again', () => {});\n`,
      'test/requirements.ts': `${cite}('C3', '', () => {});\n`,
    },
  });
  expect(Object.fromEntries(findCitations(folder))).toEqual({
    C1: ['src/core/a.test.ts', 'test/b.test.ts'],
    C2: ['src/core/a.test.ts'],
  });
});
