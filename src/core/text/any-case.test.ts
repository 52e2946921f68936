import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { anyCase } from './any-case.ts';

/** Matches the text three times in a process without optimized patterns: the first match of each differs. */
function matchWithoutOptimization(pattern: string, text: string): readonly boolean[] {
  const script = `const pattern = new RegExp(${JSON.stringify(pattern)});
    console.log(JSON.stringify([1, 2, 3].map(() => pattern.test(${JSON.stringify(text)}))))`;
  return JSON.parse(
    execFileSync(process.execPath, ['--no-regexp-optimization', '-e', script], { encoding: 'utf8' }),
  ) as readonly boolean[];
}

verifies('L5', 'matches both cases where V8 does not optimize patterns', () => {
  const pattern = `^${anyCase('(?:missing|required)\\b')} [A-Z]+$`;
  expect(matchWithoutOptimization(pattern, 'Missing KEY')).toEqual([true, true, true]);
  expect(matchWithoutOptimization(pattern, 'missing key')).toEqual([false, false, false]);
});

verifies('L5', 'keeps escapes as they are', () => {
  expect(anyCase('a\\bc\\d')).toBe('[Aa]\\b[Cc]\\d');
});
