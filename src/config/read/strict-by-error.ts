import type { Json } from '../../core/call.ts';
import type { Problem, SourceLocation } from '../config.ts';

/** A setting that holds in place of one that cannot be in force, and its consequence for messages. */
export interface Substitute {
  readonly path: readonly string[];
  readonly value: Json;
  readonly consequence: string;
}

/** Replaces a rule that may deny or ask. */
export const STRICT: Substitute = {
  path: ['mode'],
  value: 'strict',
  consequence: 'every external tool needs an approval',
};
/** Replaces a rule without which one approver would suffice. */
export const NO_APPROVALS: Substitute = {
  path: ['approvals', 'unattended'],
  value: true,
  consequence: 'calls that need an approval are refused',
};
/** Replaces a limit on sampling. */
export const NO_SAMPLING: Substitute = {
  path: ['sampling', 'permission'],
  value: 'deny',
  consequence: 'sampling requests of servers are refused',
};
/** Replaces a limit of the built-in file tools. */
export const NO_FILES: Substitute = {
  path: ['builtins', 'filesystem', 'enabled'],
  value: false,
  consequence: 'the built-in file tools are off',
};

/** Replaces a limit of the built-in database tools. */
export const NO_DATABASES: Substitute = {
  path: ['builtins', 'database', 'enabled'],
  value: false,
  consequence: 'the built-in database tools are off',
};

/** A setting that no other layer overrides. */
interface ForcedSetting {
  readonly path: readonly string[];
  readonly value: Json;
  readonly at: SourceLocation;
  readonly isForced: true;
}

/** Returns the sentence on the consequence of an error. */
export const untilCorrected = (consequence: string): string => `Until it is corrected, ${consequence}.`;

/** The consequence of an invalid rule, for messages. */
export const STRICT_NOTICE = untilCorrected(STRICT.consequence);

/** Sets the value of a substitute. It wins over the values of all files. */
export const substituteAt = ({ path, value }: Substitute, at: SourceLocation): ForcedSetting => ({
  path,
  value,
  at,
  isForced: true,
});

/** Sets mode strict at the place of an error. It wins over the modes of all files: the invalid rule may be one that denies. */
export const strictAt = (at: SourceLocation): ForcedSetting => substituteAt(STRICT, at);

/** Returns the problems with their consequence, and mode strict at the place of the first. */
export function strictBy(problems: readonly Problem[]): {
  readonly settings: readonly ForcedSetting[];
  readonly problems: readonly Problem[];
} {
  const at = problems.find((problem) => problem.at)?.at;
  return { settings: at ? [strictAt(at)] : [], problems: problems.map(withNotice) };
}

const withNotice = (problem: Problem): Problem => ({ ...problem, message: `${problem.message} ${STRICT_NOTICE}` });

/** Returns the files whose errors set mode strict in a layer. */
export const strictFiles = ({
  settings,
}: {
  readonly settings: readonly (Omit<ForcedSetting, 'isForced'> & { readonly isForced?: true })[];
}): readonly string[] =>
  settings.flatMap(({ path, at, isForced }) => (isForced && path[0] === 'mode' ? [at.file] : []));
