import type { Run } from '../../core/records/run.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';

/** Returns a command of `heddle runs` for a run, with the `--config` that its configuration needs. */
export function runsCommand(verb: string, { id, origin }: Pick<Run, 'id' | 'origin'>, options: readonly string[] = []) {
  const config = origin?.file === undefined ? [] : ['--config', origin.file];
  return quoteCommand(['heddle', 'runs', verb, id, ...options, ...config]);
}
