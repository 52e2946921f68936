import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Each file in its own process: what a test leaves behind (handles, children, listeners) is then seen, and is its own.
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
