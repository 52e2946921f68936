/**
 * Defaults of the settings and of every server entry. The zod schemas take them from here, and a program without any
 * configuration uses them directly. Defaults of one kind of entry (`args`, `env`, `headers`) stand in server-schema.ts;
 * `read/fast-layer.ts` repeats those of a plain stdio entry, and a property test compares both.
 */

export const TREATMENT_DEFAULTS = {
  priority: 0,
  enabled: true,
  trusted: false,
  autoConnect: false,
  reconnect: { maxAttempts: 3, delayMs: 5000 },
  permissions: {},
  tools: {},
} as const;

/** The health checks of a server without `health`. */
export const HEALTH_DEFAULTS = { intervalMs: 30_000, misses: 2 } as const;

/** The accepted signature algorithms of JWTs: asymmetric ones only, neither HS256 nor `none`. */
export const JWT_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;

export const SETTING_DEFAULTS = {
  mode: 'guarded',
  permissions: { allow: [], ask: [], deny: [] },
  approvals: {
    sensitiveWords: [],
    timeoutMs: 300_000,
    keepOpenMs: 50_000,
    rules: [],
    standing: [],
    unattended: false,
  },
  policies: [],
  budgets: { callers: {}, warnAt: 0.8 },
  hooks: { beforeCall: [], afterCall: [], beforeInputRequest: [], afterInputResponse: [], onApproval: [] },
  audit: { durability: 'commit' },
  limits: { callers: {} },
  connect: { localConcurrency: 3, remoteConcurrency: 20, firstListMs: 8000 },
  gateway: {
    host: '127.0.0.1',
    port: 7433,
    allowedHosts: [],
    allowedOrigins: [],
    maxBodyBytes: 4_194_304,
    unsent: {
      connectionBytes: 33_554_432,
      callerBytes: 67_108_864,
      totalBytes: 268_435_456,
      timeoutMs: 30_000,
    },
    apiKeys: [],
  },
  profiles: {},
  workflows: {},
  roots: [],
  sampling: { permission: 'allow', maxCalls: 10, windowMs: 60_000, maxTokens: 4096 },
  connectors: [],
  builtins: {
    filesystem: { enabled: true, maxFileBytes: 10_485_760, readOnly: false, clientRoots: false },
    database: { enabled: true, connections: [], queryTimeoutMs: 30_000, maxRows: 1000 },
  },
} as const;
