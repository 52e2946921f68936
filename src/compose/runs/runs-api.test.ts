import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller } from '../../core/call.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import { runCallers } from './run-caller.ts';
import { type RunsApiOptions, runsApi } from './runs-api.ts';

verifies('W6', 'lists the own runs of a key with one read of the keys, without those of an earlier key', async () => {
  const bot: Caller = { id: 'key:bot', roles: ['user'], via: 'gateway' };
  const stored = Array.from({ length: 100 }, (_, at) => ({
    id: `r${at}`,
    caller: bot,
    status: 'failed',
    startedAt: at,
  }));
  let reads = 0;
  const keys = {
    async all() {
      reads += 1;
      return [{ name: 'bot', sha256: '', roles: ['user'], createdAt: 90 }] as const;
    },
  };
  const callers = runCallers({ keys, settings: () => ({ gateway: { apiKeys: [] } }) as never });
  const journal = { list: async () => stored as unknown as readonly StoredRun[] };
  const { list } = runsApi({ watch: { journal }, callers } as unknown as RunsApiOptions);
  expect((await list(bot, {})).map(({ id }) => id)).toEqual(stored.slice(90).map(({ id }) => id));
  expect(reads).toBe(1);
});
