import type { Finding } from '../core/records/finding.ts';
import type { Config } from './config.ts';

/** Lists the files in force, the servers that are not used, and the problems, for `heddle doctor`. */
export function examineConfig(config: Pick<Config, 'files' | 'problems' | 'dropped'>): readonly Finding[] {
  const { files, problems, dropped } = config;
  const found = files.filter(({ state }) => state === 'found').map(({ file }) => file);
  const read = found.length > 0 ? `read ${found.join(', ')}` : 'no file found, defaults are in force';
  return [
    { level: 'ok', subject: 'config', message: read },
    ...dropped.map(({ name, at, reason }): Finding => {
      return { level: 'ok', subject: 'config', message: `${at.file}:${at.line}: \`${name}\` is not used. ${reason}` };
    }),
    ...problems.map(({ level, message, fix, at }): Finding => {
      const where = at ? `${at.file}:${at.line}:${at.column}: ` : '';
      return { level, subject: 'config', message: `${where}${message}`, fix };
    }),
  ];
}
