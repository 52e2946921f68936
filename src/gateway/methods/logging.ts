import type { Call } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { isLogLevel, LOG_LEVELS } from '../../core/records/log-levels.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INVALID_PARAMS, INVALID_REQUEST, META } from '../../wire/mcp.ts';
import type { RequestContext, RequestHandler } from '../request-context.ts';

/** `logging/setLevel`: from now on this session hears what servers log during its calls. */
export const setLevel: RequestHandler = async (_method, { level }, { logging }) => {
  if (!isLogLevel(level)) throw new RpcError(INVALID_PARAMS, `\`level\` has to be one of ${LOG_LEVELS.join(', ')}.`);
  if (!logging) throw new RpcError(INVALID_REQUEST, 'There is no session to set it for. Initialize first.');
  logging.level = level;
  return {};
};

/** Where a call's log goes: to a session that has set a level, or to a modern request that names one. */
export function logOf(meta: unknown, { era, logging, notify }: RequestContext): Call['log'] {
  const asked = isObject(meta) ? meta[META.logLevel] : undefined;
  const level = era === 'modern' ? asked : logging?.level;
  if (!isLogLevel(level)) return undefined;
  return {
    level,
    onMessage: (said) => {
      if (LOG_LEVELS.indexOf(said.level) < LOG_LEVELS.indexOf(level)) return;
      if (!notify('notifications/message', said)) logging?.notifyLater?.(said);
    },
  };
}
