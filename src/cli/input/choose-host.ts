import { homedir } from 'node:os';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { HOST_NAMES, type HostFile, type HostName, hostFiles } from '../../config/hosts/hosts.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';

/** Parses the name of a host. Throws USAGE_INVALID with the hosts that the command takes. */
export function readHost(word: string, taken: readonly HostName[] = HOST_NAMES): HostName {
  const known = HOST_NAMES.find((name) => name === word);
  if (known !== undefined) return known;
  const meant = closest(word, taken);
  throw new HeddleError('USAGE_INVALID', `There is no host ${word}.`, {
    fix: meant ? `Did you mean ${quoteName(meant)}?` : `Use one of ${taken.join(', ')}.`,
  });
}

/** Returns the files in which hosts keep their servers: of all hosts, of one host, or the named file alone. */
export function filesOf(projectFolder: string, host?: HostName, file?: string): readonly HostFile[] {
  const machine = { platform: process.platform, env: process.env, userHome: homedir(), projectFolder };
  const known = hostFiles(machine).filter((one) => host === undefined || one.host === host);
  if (host === undefined || file === undefined) return known;
  const path = resolve(file);
  const usual = known.find((one) => one.file === path);
  return [{ host, file: path, scope: usual?.scope ?? (isInside(projectFolder, path) ? 'project' : 'user') }];
}

// A file of the project may come from another author, so its servers stay in the project.
function isInside(folder: string, file: string): boolean {
  const path = relative(folder, file);
  return path !== '' && !isAbsolute(path) && path.split(sep)[0] !== '..';
}

/** Throws NAME_UNKNOWN unless all names are known. */
export function requireNames(names: readonly string[], known: readonly string[], where: string): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = closest(unknown, known);
  throw new HeddleError('NAME_UNKNOWN', `There is no server \`${unknown}\` ${where}.`, {
    fix: meant
      ? `Did you mean \`${quoteName(meant)}\`?`
      : `There ${known.length > 0 ? `are ${known.map(quoteName).join(', ')}` : 'is none'}.`,
  });
}
