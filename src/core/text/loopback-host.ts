const NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Tests whether the `hostname` of a URL names this machine. */
export const isLoopbackHost = (hostname: string): boolean => NAMES.has(hostname);
