import type { Call } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { isLogLevel, LOG_LEVELS } from '../../core/records/log-levels.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INVALID_PARAMS, INVALID_REQUEST, META } from '../../wire/mcp.ts';
import type { RequestContext, RequestHandler } from '../request-context.ts';

/** Handles `logging/setLevel`: the session gets log messages of servers during its calls from this level on. */
export const setLevel: RequestHandler = async (_method, { level }, { logging }) => {
  if (!isLogLevel(level)) throw new RpcError(INVALID_PARAMS, `\`level\` has to be one of ${LOG_LEVELS.join(', ')}.`);
  if (!logging)
    throw new RpcError(INVALID_REQUEST, 'There is no session whose level could be set. Send initialize first.');
  logging.level = level;
  return {};
};

/** Returns the log option of a call: for a session with a level, or for a modern request with a level in `_meta`. */
export function logOf(meta: unknown, { era, logging, notify }: RequestContext): Call['log'] {
  const requested = isObject(meta) ? meta[META.logLevel] : undefined;
  const level = era === 'modern' ? requested : logging?.level;
  if (!isLogLevel(level)) return undefined;
  return {
    level,
    onMessage: (params) => {
      if (LOG_LEVELS.indexOf(params.level) < LOG_LEVELS.indexOf(level)) return;
      if (!notify('notifications/message', params)) logging?.notifyLater?.(params);
    },
  };
}
