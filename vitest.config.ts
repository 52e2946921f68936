import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Each file in its own process: what a test leaves behind (handles, children, listeners) is then seen, and is its own.
    pool: 'forks',
    // Most of a test's time is waiting for other processes: two at a time fit even two cores.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
