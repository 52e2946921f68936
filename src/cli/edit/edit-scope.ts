import { EDIT_SCOPES, type EditFolders, type EditScope } from '../../config/edit/edit-scopes.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { homeFolder } from '../../files/home-folder.ts';
import type { Input } from '../command.ts';

export const SCOPE_OPTION = {
  type: 'string',
  value: 'SCOPE',
  help: 'local (this project, yours alone), project or user',
} as const;

/** Parses `--scope`. Throws USAGE_INVALID. */
export function readScope(input: Input): EditScope | undefined {
  const wanted = input.text('scope');
  const known = EDIT_SCOPES.find((scope) => scope === wanted);
  if (wanted === undefined || known !== undefined) return known;
  const meant = closest(wanted, EDIT_SCOPES);
  throw new HeddleError('USAGE_INVALID', `There is no scope ${wanted}.`, {
    fix: meant ? `Did you mean ${meant}?` : `Use one of ${EDIT_SCOPES.join(', ')}.`,
  });
}

/** Returns the folders of this user and project. */
export const placesOf = ({ projectFolder }: { readonly projectFolder: string }): EditFolders => ({
  projectFolder,
  home: homeFolder(process.env),
});

/** Returns the only positional argument. Throws USAGE_INVALID for none or several. */
export function oneName(input: Input, what: string): string {
  const [name, ...more] = input.positionals;
  if (name !== undefined && more.length === 0 && input.rest === undefined) return name;
  throw new HeddleError('USAGE_INVALID', name === undefined ? `No ${what} was given.` : `One ${what} at a time.`);
}
