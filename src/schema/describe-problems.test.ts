import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json } from '../core/call.ts';
import { describeProblems } from './describe-problems.ts';
import type { SchemaProblem } from './evaluation.ts';

/** Unknown properties. Counts how often the allowed names are read. */
function unknownNames(count: number, nameAt: (index: number) => string) {
  const seen = { described: 0 };
  const problems = Array.from({ length: count }, (_, index): SchemaProblem => {
    const problem = { path: [], keyword: 'additionalProperties', rule: 'is not', value: {}, property: nameAt(index) };
    return Object.defineProperty(problem, 'known', {
      get() {
        seen.described++;
        return ['path'];
      },
    });
  });
  return { seen, problems };
}

verifies('G4', 'describes only the problems that are shown, and one to know that there are more', () => {
  const { seen, problems } = unknownNames(20, (index) => `x${index}`);
  expect(describeProblems(problems, 'input')).toMatch(/^`x0` is not .*; `x4` is not [^;]+; it takes `path`; and more$/);
  expect(seen.described).toBe(6);
});

verifies('G4', 'shows a problem once that is found several times', () => {
  const { problems } = unknownNames(20, () => 'pth');
  expect(describeProblems(problems, 'input')).toBe('`pth` is not an argument of this tool; it takes `path`');
});

verifies('G4', 'reads only the part of a wrong value that is shown', () => {
  let read = 0;
  const value = new Proxy<Json[]>(
    Array.from({ length: 10_000 }, () => 1),
    {
      get(target, key) {
        read++;
        return Reflect.get(target, key);
      },
    },
  );
  const problem = { path: ['a'], keyword: 'type', rule: 'must be string', value };
  expect(describeProblems([problem], 'input')).toBe(`\`a\` must be string, got [${'1,'.repeat(29)}1…`);
  expect(read).toBeLessThan(100);
});
