import { HeddleError } from '../../core/errors.ts';
import type { RunFence } from '../run-journal.ts';

/** Rejects a batch, of which nothing is written, with the fences of the runs that this process has lost. */
export class StaleFences extends Error {
  readonly #keys: ReadonlySet<string>;

  constructor(fences: readonly RunFence[]) {
    super('Another process has taken over these runs.');
    this.#keys = new Set(fences.map(keyOf));
  }

  /** Returns the error for a lost run; undefined for any other. */
  errorOf(fence: RunFence): HeddleError | undefined {
    if (!this.#keys.has(keyOf(fence))) return undefined;
    return new HeddleError('RUN_LEASE_LOST', `Another process has taken over the run ${fence.run}.`);
  }
}

const keyOf = ({ run, epoch }: RunFence): string => `${epoch} ${run}`;
