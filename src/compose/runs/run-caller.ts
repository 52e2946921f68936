import type { Settings } from '../../config/schema/schema.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller } from '../../core/call.ts';
import type { RunCaller } from '../../core/records/run.ts';
import type { ApiKeyBook } from '../../store/api-key-book.ts';

export interface RunCallerOptions {
  readonly keys: Pick<ApiKeyBook, 'all'>;
  readonly settings: () => Pick<Settings, 'gateway'>;
}

const KEY = 'key:';

/** Finds out whose runs these are. Another key of the same name, created later, is another caller. */
export interface RunCallers {
  /**
   * Looks up the caller of a run again: the roles and the profile of a key are those that it has now. Returns undefined
   * if the key was revoked. Other callers keep the roles with which they began the run.
   */
  callerOf(run: OwnedRun): Promise<Caller | undefined>;
  /** Tests whether a caller is the one that began a run. */
  isOwn(by: Caller, run: OwnedRun): Promise<boolean>;
  /** Returns those of the runs that a caller began. Reads the keys once at most. */
  ownOf<R extends OwnedRun>(by: Caller, runs: readonly R[]): Promise<readonly R[]>;
}

/** The facts of a run that name its owner. */
export interface OwnedRun {
  readonly caller: RunCaller;
  readonly startedAt: number;
}

export function runCallers({ keys, settings }: RunCallerOptions): RunCallers {
  /** Returns a function that finds the key of a caller id as it was at a time; undefined if there was none. */
  async function keyFinder(id: string) {
    const name = id.slice(KEY.length);
    const configured = settings().gateway.apiKeys.find((key) => key.name === name);
    if (configured) return () => configured;
    const all = await keys.all();
    return (at: number) => all.find((key) => key.name === name && key.createdAt <= at);
  }

  async function ownOf<R extends OwnedRun>(by: Caller, runs: readonly R[]): Promise<readonly R[]> {
    const found = runs.filter(({ caller }) => vaultPrincipal(caller) === vaultPrincipal(by));
    if (found.length === 0 || !by.id.startsWith(KEY)) return found;
    const keyAt = await keyFinder(by.id);
    return found.filter(({ startedAt }) => keyAt(startedAt) !== undefined);
  }

  return {
    async callerOf({ caller: { id, roles, profile, agent }, startedAt }) {
      if (!id.startsWith(KEY)) return toCaller({ id, roles, profile, agent });
      const found = (await keyFinder(id))(startedAt);
      return found && toCaller({ id, roles: found.roles, profile: found.profile ?? profile });
    },
    isOwn: async (by, run) => (await ownOf(by, [run])).length > 0,
    ownOf,
  };
}

interface FoundCaller extends Pick<Caller, 'id' | 'roles'> {
  readonly profile?: string | undefined;
  readonly agent?: string | undefined;
}

const toCaller = ({ id, roles, profile, agent }: FoundCaller): Caller => ({
  ...{ id, roles, via: 'workflow' },
  ...(profile !== undefined && { profile }),
  ...(agent !== undefined && { agent }),
});
