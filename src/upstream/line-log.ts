import type { JsonObject, ResolvedCall } from '../core/call.ts';

/** Where what a server logs goes when its line does not say during which call. */
export interface LineLog {
  sending(call: ResolvedCall): void;
  hear(method: string, params: JsonObject): void;
}

export const LOG_MESSAGE = 'notifications/message';

/** To the last call, as long as all calls of the line are of one principal; else to nobody, since it may be another's. */
export function lineLog(): LineLog {
  let principal: string | undefined;
  let isShared = false;
  let latest: ResolvedCall['log'];
  return {
    sending({ caller, log }) {
      isShared ||= principal !== undefined && principal !== caller.id;
      principal = caller.id;
      latest = log;
    },
    hear(method, params) {
      if (method === LOG_MESSAGE && !isShared) latest?.tell(params);
    },
  };
}
