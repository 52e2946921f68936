import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// The test files of these folders share processes, which takes half the time. Their tests keep no state in modules.
const SHARED = [
  'src/builtin',
  'src/catalog',
  'src/cel',
  'src/cli',
  'src/compose',
  'src/config',
  'src/console',
  'src/core',
  'src/egress',
  'src/gateway',
  'src/govern',
  'src/library',
  'src/schema',
  'src/store',
  'src/translate',
  'src/upstream',
  'src/wire',
  'src/workflow',
  'test/auth',
  'test/catalog',
  'test/compose',
  'test/config',
  'test/gateway',
  'test/govern',
  'test/translate',
  'test/upstream',
  'test/workflow',
].map((folder) => `${folder}/**/*.test.ts`);

export default defineConfig({
  test: {
    pool: 'forks',
    // Most of a test's time is waiting for other processes: two at a time fit even two cores.
    maxWorkers: 2,
    // Child processes and threads load Heddle's files from the cache of `bin/heddle`, instead of compiling each again.
    // `CI` turns on colours in the process that loads picocolors first, for all test files that share it.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'), CI: '' },
    // Only a test that hangs takes this long. A machine ten times slower must not fail.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      // Each file in its own process: what a test leaves behind (handles, children, listeners) is then seen, and is its own.
      { extends: true, test: { include: ['src/**/*.test.ts', 'test/**/*.test.ts'], exclude: SHARED, name: 'apart' } },
      { extends: true, test: { include: SHARED, isolate: false, name: 'shared' } },
    ],
  },
});
