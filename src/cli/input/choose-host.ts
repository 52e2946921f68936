import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { HOST_NAMES, type HostFile, type HostName, hostFiles } from '../../config/hosts/hosts.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';

/** The host a person named, or USAGE_INVALID. */
export function readHost(word: string): HostName {
  const known = HOST_NAMES.find((name) => name === word);
  if (known !== undefined) return known;
  const meant = closest(word, HOST_NAMES);
  throw new HeddleError('USAGE_INVALID', `There is no host ${word}.`, {
    fix: meant ? `Did you mean ${meant}?` : `Use one of ${HOST_NAMES.join(', ')}.`,
  });
}

/** Where the hosts on this machine keep their servers: all of them, one host's, or the one file that was named. */
export function filesOf(projectFolder: string, host?: HostName, file?: string): readonly HostFile[] {
  if (host !== undefined && file !== undefined) return [{ host, scope: 'user', file: resolve(file) }];
  const machine = { platform: process.platform, env: process.env, userHome: homedir(), projectFolder };
  return hostFiles(machine).filter((one) => host === undefined || one.host === host);
}

/** The names a person gave, each of which has to be known. */
export function requireNames(names: readonly string[], known: readonly string[], where: string): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = closest(unknown, known);
  throw new HeddleError('NAME_UNKNOWN', `There is no server \`${unknown}\` ${where}.`, {
    fix: meant ? `Did you mean \`${meant}\`?` : `There ${known.length > 0 ? `are ${known.join(', ')}` : 'is none'}.`,
  });
}
