import type { JsonObject, ResolvedCall } from '../../core/call.ts';
import { LOG_LEVELS } from '../../core/records/log-levels.ts';
import { LOG_MESSAGE } from '../call-request.ts';

/** What a server logs on one line: from which level on, and where it goes when the line does not say during which call. */
export interface ConnectionLog {
  /** To be told of every call before it is sent, which has to wait for what comes back, if anything does, and fails with it. */
  sending(call: ResolvedCall): Promise<void> | undefined;
  hear(method: string, params: JsonObject): void;
  /** Settles when no call waits for the server to know its level. */
  settled(): Promise<void> | undefined;
}

/**
 * To the last call, as long as all calls of the line are of one principal; else to nobody, since it may be another's.
 * The server is asked for the most that any call wanted to hear, and each call hears its own part of it.
 */
export function connectionLog(setLevel: (level: string) => Promise<void> | undefined = () => undefined): ConnectionLog {
  let principal: string | undefined;
  let isShared = false;
  let latest: ResolvedCall['log'];
  let lowest = LOG_LEVELS.length;
  let raising: Promise<void> | undefined;

  function raise(level: string): void {
    const at = LOG_LEVELS.indexOf(level);
    if (at >= lowest) return;
    lowest = at;
    const mine = setLevel(level)?.finally(() => {
      if (raising === mine) raising = undefined;
    });
    raising = mine;
  }

  return {
    sending({ caller, log }) {
      isShared ||= principal !== undefined && principal !== caller.id;
      principal = caller.id;
      latest = log;
      if (!log) return undefined;
      raise(log.level);
      return raising;
    },
    hear(method, params) {
      if (method === LOG_MESSAGE && !isShared) latest?.onMessage(params);
    },
    settled: () => raising?.catch(() => {}),
  };
}
