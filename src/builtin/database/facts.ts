import type { JsonObject } from '../../core/call.ts';
import type { ConnectionOptions } from './database.ts';

// Longer than the statement may take, so that the exact error arrives before the deadline of the call.
const GRACE_MS = 2000;

interface FactOptions {
  readonly connections: readonly ConnectionOptions[];
  readonly queryTimeoutMs: number;
}

/** Returns the annotations and facts of a tool that only reads databases. */
export const readsDatabase = (options: FactOptions): JsonObject => ({
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  _meta: {
    'dev.heddle/tool': {
      category: 'database',
      riskLevel: 'low',
      idempotent: true,
      requiresApproval: false,
      requires: requiredFor(options, 'fs:read'),
      timeout: options.queryTimeoutMs + GRACE_MS,
    },
  },
});

/** Returns the annotations and facts of the tool that changes databases. */
export const writesDatabase = (options: FactOptions): JsonObject => ({
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  _meta: {
    'dev.heddle/tool': {
      category: 'database',
      riskLevel: 'high',
      idempotent: false,
      requiresApproval: true,
      approval: 'always',
      requires: requiredFor(options, 'fs:write'),
      timeout: options.queryTimeoutMs + GRACE_MS,
    },
  },
});

/** A SQLite database is a file, any other is reached by the network. */
const requiredFor = ({ connections }: FactOptions, forFile: string): readonly string[] => [
  ...new Set(connections.map(({ type }) => (type === 'sqlite' ? forFile : 'network'))),
];
