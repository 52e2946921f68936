/** MCP's levels of logging, from what everybody can do without to what nobody can. */
export const LOG_LEVELS: readonly unknown[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

export const isLogLevel = (level: unknown): level is string => LOG_LEVELS.includes(level);
