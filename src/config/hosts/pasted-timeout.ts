import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { PastedContext, PastedReport } from './pasted-step.ts';

// Cline and Roo Code accept 1 to 3600 seconds. Other hosts have milliseconds, and no server needs that few of them.
const MOST_SECONDS = 3600;

/** Tells whether an entry has keys of Gemini CLI, whose timeouts are milliseconds. */
export const isGemini = (entry: JsonObject): boolean =>
  ['httpUrl', 'trust', 'includeTools', 'excludeTools'].some((key) => entry[key] !== undefined);

/** Converts the timeouts of a host, in its unit, to `timeoutMs` and `connectTimeoutMs`. */
export function pastedTimeouts(entry: JsonObject, report: PastedReport, { isOpencode }: PastedContext): JsonObject {
  const { timeout, startup_timeout_sec: startup, tool_timeout_sec: tool, ...rest } = entry;
  const limits: Record<string, number> = {};
  const set = (key: string, own: string, ms: number): void => {
    limits[own] = Math.round(ms);
    report.became(key, `\`${own}: ${limits[own]}\``);
  };
  if (typeof startup === 'number') set('startup_timeout_sec', 'connectTimeoutMs', startup * 1000);
  if (typeof tool === 'number') set('tool_timeout_sec', 'timeoutMs', tool * 1000);
  if (isObject(timeout)) {
    if (typeof timeout.startup === 'number') set('timeout.startup', 'connectTimeoutMs', timeout.startup);
    if (typeof timeout.request === 'number') set('timeout.request', 'timeoutMs', timeout.request);
  }
  if (typeof timeout === 'number') {
    const isSeconds = !isOpencode && !isGemini(entry) && timeout <= MOST_SECONDS;
    set(`timeout: ${timeout}`, isOpencode ? 'connectTimeoutMs' : 'timeoutMs', isSeconds ? timeout * 1000 : timeout);
  } else if (timeout !== undefined && !isObject(timeout)) {
    report.note('`timeout` is left out: it is not a number.');
  }
  return { ...limits, ...rest };
}
