import { basename, relative, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { type EditTarget, editTargets } from '../../config/edit/edit-scopes.ts';
import { recordTrust } from '../../config/sources/trust-book.ts';
import { HeddleError } from '../../core/errors.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { noteAct } from '../acts.ts';
import type { Input } from '../command.ts';
import { notice } from '../print/print-line.ts';
import { placesOf, readScope } from './edit-scope.ts';

/** A file that `heddle permissions` may change. */
export type RuleFile = Pick<EditTarget, 'file' | 'schema'> & { readonly scope: EditTarget['scope'] | 'config' };

/** Lists the files that may have rules: that of `--config`, else those of `--scope`, else of all scopes. */
export async function ruleFiles(config: Config, input: Input): Promise<readonly RuleFile[]> {
  const configFile = input.text('config');
  const scope = readScope(input);
  if (configFile === undefined) {
    const own = (await editTargets(placesOf(config))).filter(({ foreign }) => !foreign);
    return own.filter((target) => scope === undefined || target.scope === scope);
  }
  if (scope !== undefined) throw new HeddleError('USAGE_INVALID', 'Give --scope or --config, not both.');
  if (!['.mcp.json', 'mcp.json'].includes(basename(configFile))) {
    return [{ scope: 'config', file: resolve(configFile) }];
  }
  throw new HeddleError('USAGE_INVALID', `${configFile} lists servers only; Heddle reads no permissions from it.`, {
    fix: 'Leave --config out: your own heddle.json has your rules.',
  });
}

/** Returns the file for a new rule: that of `--config` or `--scope`, else the user's. */
export async function ruleFileFor(config: Config, input: Input): Promise<RuleFile> {
  const files = await ruleFiles(config, input);
  const [first, ...more] = files;
  const found = more.length === 0 ? first : files.find(({ scope }) => scope === 'user');
  if (found) return found;
  throw new HeddleError('USAGE_INVALID', `There is no ${input.text('scope')} scope in Heddle’s own folder.`, {
    fix: 'Run the command in a project, or with `--scope user`.',
  });
}

/** Trusts the settings of a file again after the user's own edit, if they were trusted or absent before it. */
export async function keepTrust({ file }: RuleFile, before: Config, after: Config): Promise<void> {
  const thing = `settings ${relative(after.projectFolder, file)}`;
  const changed = after.untrusted.find((one) => one.thing === thing);
  if (changed === undefined) return;
  if (before.untrusted.some((one) => one.thing === thing)) {
    notice(`The settings of ${file} are untrusted, so its rules that allow are not in force. Run \`heddle trust\`.`);
    return;
  }
  const { hash } = changed;
  await recordTrust(homeFolder(process.env), after.projectFolder, { [thing]: hash });
  noteAct({ trusted: [{ thing, hash }], project: after.projectFolder });
}
