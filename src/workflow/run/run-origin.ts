import { HeddleError } from '../../core/errors.ts';
import type { Run, RunOrigin } from '../../core/records/run.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { originText } from '../../store/run-journal.ts';

/** Tests whether a process of this origin may execute a run. `own` is absent where origins do not select runs. */
export const isOfOrigin = ({ origin }: Pick<Run, 'origin'>, own: RunOrigin | undefined): boolean =>
  !origin || !own || originText(origin) === originText(own);

/** Throws USAGE_INVALID for a run of another origin: other servers, folders and rules would apply to its steps. */
export function requireOrigin(run: Pick<Run, 'id' | 'origin'>, own: RunOrigin | undefined): void {
  const { id, origin } = run;
  if (!origin || !own || isOfOrigin(run, own)) return;
  throw new HeddleError('USAGE_INVALID', `The run ${id} belongs to ${ownerOf(origin)}, and is executed there only.`, {
    fix: fixOf(origin, own, id),
    details: { run: id, origin: { ...origin } },
  });
}

/** Returns a phrase for the project folder, the file of `--config` or the program that a run belongs to. */
function ownerOf({ folder, file, program }: RunOrigin): string {
  const files = file === undefined ? `the project ${folder}` : `--config ${file} in ${folder}`;
  return program ? `a program in ${files}` : files;
}

function fixOf({ folder, file, program }: RunOrigin, own: RunOrigin, id: string): string {
  if (program) return 'Use `heddle.runs` in that program.';
  const isElsewhere = folder !== own.folder || own.program;
  const options = [
    ...(file === undefined ? [] : ['--config', file]),
    // Without it a gateway with the same file in the other folder would get the command again.
    ...(isElsewhere && file !== undefined && file === own.file ? ['--local'] : []),
  ];
  const place = isElsewhere ? `\`cd ${quoteCommand([folder])}\`, then ` : '';
  if (own.program) return `Run ${place}\`${quoteCommand(['heddle', 'runs', 'resume', id, ...options])}\`.`;
  if (options.length > 0) return `Run ${place}the same command with \`${quoteCommand(options)}\`.`;
  return `Run ${place}the same command${own.file === undefined ? '' : ' without `--config`'}.`;
}
