/** The annotations and facts of every tool that only reads files. */
export const READS_FILES = {
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  _meta: {
    'dev.heddle/tool': {
      category: 'filesystem',
      riskLevel: 'low',
      idempotent: true,
      requiresApproval: false,
      requires: ['fs:read'],
    },
  },
} as const;

/** The annotations and facts of the tool that writes files. */
export const WRITES_FILES = {
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  _meta: {
    'dev.heddle/tool': {
      category: 'filesystem',
      riskLevel: 'medium',
      idempotent: false,
      requiresApproval: true,
      requires: ['fs:write'],
    },
  },
} as const;
