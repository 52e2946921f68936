import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { ROOT } from './temporary-tree.ts';

const MEASURED = /performance\.now|Date\.now|memoryUsage|hrtime|\bsleep\(|AbortSignal\.timeout\(\d{1,4}\)/;

/** The files that may read a clock or the memory, with the reason. Nothing in them depends on how busy the machine is. */
const ALLOWED: Readonly<Record<string, string>> = {
  'test/limits.ts': 'checks time and memory in soak runs only',
  'test/until.ts': 'has the deadline of a test that fails',
  'test/house/measured.test.ts': 'names what it looks for',
  'test/faults/byte-by-byte.test.ts': 'counts the bytes on the heap after a forced collection',
  'test/faults/http-refusals.test.ts': 'writes a Retry-After date',
  'src/builtin/filesystem/escape.test.ts': 'spreads the moments of a race; no assertion depends on them',
  'src/gateway/jwt.test.ts': 'writes the expiry of a token',
  'src/store/write-queue.test.ts': 'passes a clock on',
  'src/upstream/lines.test.ts': 'passes a clock on',
};

verifies('F11', 'no test asserts time or memory outside a soak run', () => {
  const files = globSync(['src/**/*.test.ts', 'test/**/*.ts'], { cwd: ROOT });
  expect(files.length).toBeGreaterThan(300);
  const measuring = files.filter((file) => MEASURED.test(readFileSync(join(ROOT, file), 'utf8')));
  expect(measuring.filter((file) => ALLOWED[file] === undefined)).toEqual([]);
});
