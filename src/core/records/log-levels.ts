/** The log levels of MCP, the least severe first. */
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
