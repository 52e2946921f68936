import { HeddleError } from '../../core/errors.ts';
import type { StandingWish } from '../../core/records/approval.ts';
import { type Input, type Option, readNumber } from '../command.ts';
import { readDuration } from '../input/read-duration.ts';

const MAX_USES = 1_000_000;

export const STANDING_OPTIONS: Readonly<Record<'always' | 'session' | 'until' | 'uses' | 'argument', Option>> = {
  always: { type: 'boolean', help: 'approve: also approve later calls of this tool by this caller' },
  session: { type: 'boolean', help: 'with --always: only while the session of the requester lasts' },
  until: { type: 'string', value: 'TIME', help: 'with --always: for this long, such as 30m, 8h or 7d' },
  uses: { type: 'string', value: 'N', help: 'with --always: for so many calls' },
  argument: {
    type: 'string',
    value: 'PATH=GLOB',
    multiple: true,
    help: 'with --always: only if this argument matches; * does not match /; may be repeated',
  },
};

/** Reads the options of a standing approval; undefined without `--always`. Throws USAGE_INVALID. */
export function standingWish(input: Input): StandingWish | undefined {
  const until = input.text('until');
  const uses = readNumber('uses', input.text('uses'), MAX_USES);
  const globs = input.texts('argument').map(toGlob);
  const isLimited = until !== undefined || uses !== undefined || globs.length > 0 || input.flag('session');
  if (!input.flag('always')) {
    if (!isLimited) return undefined;
    throw new HeddleError('USAGE_INVALID', '--session, --until, --uses and --argument limit a standing approval.', {
      fix: 'Add --always, or leave them out.',
    });
  }
  if (uses === 0) throw new HeddleError('USAGE_INVALID', '--uses has to be at least 1.');
  return {
    ...(input.flag('session') && { session: true }),
    ...(until !== undefined && { untilMs: readDuration('until', until) }),
    ...(uses !== undefined && { uses }),
    ...(globs.length > 0 && { arguments: Object.fromEntries(globs) }),
  };
}

function toGlob(word: string): readonly [string, string] {
  const [, path, glob] = /^([^=]+)=([\s\S]+)$/.exec(word) ?? [];
  if (path !== undefined && glob !== undefined && path !== '__proto__') return [path, glob];
  throw new HeddleError('USAGE_INVALID', '--argument has to be the path of an argument and a pattern.', {
    fix: 'Write for example --argument path=reports/*.',
  });
}
