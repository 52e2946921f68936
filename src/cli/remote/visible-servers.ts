import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { CommandHeddle } from '../command-heddle.ts';

/** Lists the servers for a command that can do without them; undefined if its API key lacks the role to see them. */
export const visibleServers = (
  { servers }: Pick<CommandHeddle, 'servers'>,
  by: Caller,
): Promise<readonly ServerStatus[] | undefined> => unlessForbidden(servers.list(by));

/** Returns undefined if the API key of a command lacks the role for something that the command can do without. */
export const unlessForbidden = <T>(reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((thrown) => {
    if (HeddleError.from(thrown).code !== 'PERMISSION_DENIED') throw thrown;
    return undefined;
  });
