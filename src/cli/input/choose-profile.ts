import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { Heddle } from '../../heddle.ts';
import type { Input } from '../command.ts';

export const PROFILE_OPTION = {
  type: 'string',
  value: 'PROFILE',
  help: 'Serve this profile instead of everything',
} as const;

/** Returns the profile of `--profile`. Throws CONFIG_INVALID if it does not exist. */
export function chooseProfile(input: Input, { access }: Pick<Heddle, 'access'>): string | undefined {
  const profile = input.text('profile');
  const { profiles } = access.settings();
  if (profile === undefined || Object.hasOwn(profiles, profile)) return profile;
  const file = access.waitingProfile(profile);
  if (file !== undefined) {
    throw new HeddleError('CONFIG_INVALID', `The profile ${profile} is in ${file}, which is not trusted yet.`, {
      fix: 'Look at the file, then run `heddle trust` once (in CI: pass --trust-project).',
    });
  }
  const meant = closest(profile, Object.keys(profiles));
  throw new HeddleError('CONFIG_INVALID', `There is no profile ${profile}.`, {
    fix:
      meant === undefined ? 'Write it under `profiles` in heddle.json.' : `Did you mean --profile ${quoteName(meant)}?`,
  });
}
