import { exists, isProjectFolder } from '../../config/sources/project-folder.ts';
import type { RunOrigin } from '../../core/records/run.ts';
import { homeFolder, userHomeOf } from '../../files/home-folder.ts';
import type { RunJournal, StoredRun } from '../../store/run-journal.ts';
import { isOfOrigin, requireOrigin } from '../../workflow/run/run-origin.ts';
import type { Environment } from '../heddle-options.ts';
import { MAX_BELOW } from './change-runs.ts';

export interface TakeOverOptions {
  readonly journal: Pick<RunJournal, 'list' | 'moveTo'>;
  /** The origin of this process; absent where origins do not select runs. */
  readonly own: RunOrigin | undefined;
  readonly env: Environment;
}

/**
 * Throws USAGE_INVALID for a run of another origin that still exists. If no process can have its origin any more, the
 * run and the open runs below it get the origin of this process: a user has asked to go on with the run here.
 */
export async function takeOver(run: StoredRun, options: TakeOverOptions): Promise<void> {
  const { own, env } = options;
  if (!own || isOfOrigin(run, own)) return;
  if (run.origin && !(await isGone(run.origin, env))) requireOrigin(run, own);
  await moveAll(run.id, own, options.journal);
}

async function moveAll(run: string, origin: RunOrigin, journal: TakeOverOptions['journal']): Promise<void> {
  await journal.moveTo(run, origin);
  for (const { id } of await journal.list({ parent: run, status: 'open', limit: MAX_BELOW })) {
    await moveAll(id, origin, journal);
  }
}

/** Tests whether the project folder or the file of `--config` is gone, or the folder belongs to another project now. */
async function isGone({ folder, file }: RunOrigin, env: Environment): Promise<boolean> {
  const homes = { home: homeFolder(env), userHome: userHomeOf(env) };
  if (!(await isProjectFolder(folder, homes))) return true;
  return file !== undefined && !(await exists(file));
}
