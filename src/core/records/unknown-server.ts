import { HeddleError } from '../errors.ts';
import { closest } from '../text/did-you-mean.ts';
import { quoteName } from '../text/visible-text.ts';

/** Creates the error for a name that no server has, with the closest of the known names. */
export function unknownServer(name: string, known: Iterable<string>): HeddleError {
  const guess = closest(name, known);
  const fix =
    guess === undefined ? 'Run `heddle list servers` to see their names.' : `Did you mean ${quoteName(guess)}?`;
  return new HeddleError('NAME_UNKNOWN', `No server is named ${name}.`, { fix });
}
