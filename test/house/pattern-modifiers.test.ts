import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './temporary-tree.ts';

// V8 matches `(?i:…)` and `(?-i:…)` wrongly in processes that have compiled many patterns; see core/text/any-case.ts.
const MODIFIER = /\(\?-?i-?[ms]?:/;

it('no pattern changes its case sensitivity inside', () => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  expect(files.length).toBeGreaterThan(100);
  const found = files.flatMap((file) =>
    readFileSync(join(ROOT, 'src', file), 'utf8')
      .split('\n')
      .flatMap((line, at) =>
        MODIFIER.test(line) && !/^\s*(?:\/\/|\/?\*)/.test(line) ? [`src/${file}:${at + 1}`] : [],
      ),
  );
  expect(found).toEqual([]);
});
