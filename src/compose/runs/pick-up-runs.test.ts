import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError } from '../../core/errors.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import { type PickUpOptions, pickUpRuns } from './pick-up-runs.ts';

/** Picks up runs with a store that fails a number of times. Pauses take no time. */
async function pickedUp({ failures = 0, ...options }: Partial<PickUpOptions> & { readonly failures?: number }) {
  const pauses: number[] = [];
  let left = failures;
  const mayFail = () => {
    if (left-- > 0) throw new HeddleError('STORE_UNAVAILABLE', 'The database is starting up.');
  };
  let opened = 0;
  await pickUpRuns({
    journal: {
      async list() {
        mayFail();
        return [{}] as StoredRun[];
      },
      watch: () => () => {},
    },
    library: { all: () => new Map(), watch: () => () => {} },
    closing: new AbortController().signal,
    async engine() {
      mayFail();
      opened++;
    },
    timer(delayMs, callback) {
      pauses.push(delayMs);
      setImmediate(callback);
      return () => {};
    },
    ...options,
  });
  return { opened, pauses };
}

describe('a process with runs', () => {
  verifies('W5', 'picks up runs of a store that is restarting when the process starts', async () => {
    expect(await pickedUp({ failures: 3 })).toEqual({ opened: 1, pauses: [1000, 1000, 1000] });
    let isDown = true;
    const engine = async () => {
      if (isDown) {
        isDown = false;
        throw new Error('Connection terminated unexpectedly');
      }
    };
    expect(await pickedUp({ engine })).toMatchObject({ pauses: [1000] });
  });

  verifies('W7', 'does not open an engine again that is not installed', async () => {
    const engine = () => Promise.reject(new HeddleError('DRIVER_MISSING', 'It is not installed.'));
    await expect(pickedUp({ engine })).rejects.toMatchObject({ code: 'DRIVER_MISSING' });
  });

  verifies('W5', 'opens nothing after it was closed, and looks at the store no more', async () => {
    expect(await pickedUp({ closing: AbortSignal.abort() })).toEqual({ opened: 0, pauses: [] });
    const closing = new AbortController();
    let looks = 0;
    const list = () => {
      looks++;
      closing.abort();
      return Promise.reject(new HeddleError('STORE_UNAVAILABLE', 'The store is closed.'));
    };
    const journal = { list, watch: () => () => {} };
    expect(await pickedUp({ closing: closing.signal, journal })).toEqual({ opened: 0, pauses: [] });
    await new Promise(setImmediate);
    expect(looks).toBe(1);
  });
});
