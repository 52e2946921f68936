import type { Problem, SourceLocation } from '../config.ts';
import type { Layer, LayerSetting } from './layer.ts';

/** The consequence of an invalid rule, for messages. */
export const STRICT_NOTICE = 'Until it is corrected, every external tool needs an approval.';

/** Sets mode strict at the place of an error. It wins over the modes of all files: the invalid rule may be one that denies. */
export const strictAt = (at: SourceLocation): LayerSetting => ({ path: ['mode'], value: 'strict', at, isForced: true });

/** Returns the problems with their consequence, and mode strict at the place of the first. */
export function strictBy(problems: readonly Problem[]): Pick<Layer, 'settings' | 'problems'> {
  const at = problems.find((problem) => problem.at)?.at;
  return { settings: at ? [strictAt(at)] : [], problems: problems.map(withNotice) };
}

const withNotice = (problem: Problem): Problem => ({ ...problem, message: `${problem.message} ${STRICT_NOTICE}` });

/** Returns the files whose errors set mode strict in a layer. */
export const strictFiles = ({ settings }: Pick<Layer, 'settings'>): readonly string[] =>
  settings.flatMap(({ path, at, isForced }) => (isForced && path[0] === 'mode' ? [at.file] : []));
