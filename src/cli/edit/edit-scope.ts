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

/** The scope that was asked for, or USAGE_INVALID. */
export function readScope(input: Input): EditScope | undefined {
  const asked = input.text('scope');
  const known = EDIT_SCOPES.find((scope) => scope === asked);
  if (asked === undefined || known !== undefined) return known;
  const meant = closest(asked, EDIT_SCOPES);
  throw new HeddleError('USAGE_INVALID', `There is no scope ${asked}.`, {
    fix: meant ? `Did you mean ${meant}?` : `Use one of ${EDIT_SCOPES.join(', ')}.`,
  });
}

/** Where the files of this user and project are. */
export const placesOf = ({ projectFolder }: { readonly projectFolder: string }): EditFolders => ({
  projectFolder,
  home: homeFolder(process.env),
});

/** The one name a command takes, or USAGE_INVALID. */
export function oneName(input: Input, what: string): string {
  const [name, ...more] = input.positionals;
  if (name !== undefined && more.length === 0 && input.rest === undefined) return name;
  throw new HeddleError('USAGE_INVALID', name === undefined ? `Say which ${what}.` : `One ${what} at a time.`);
}
