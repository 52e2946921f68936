import type { Config, ValueOrigin } from '../../config/config.ts';
import { withSetting } from '../../config/edit/edit-rules.ts';
import { emptyFile } from '../../config/edit/edit-servers.ts';
import { readConfig } from '../../config/read-config.ts';
import type { Settings } from '../../config/schema/schema.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Input } from '../command.ts';
import { changeFile } from '../edit/change-file.ts';
import { type RuleFile, ruleFileFor } from '../edit/rule-files.ts';
import { writeSchema } from '../edit/write-schema.ts';
import { notice } from '../print/print-line.ts';
import { openOptions } from '../with-heddle.ts';
import { settleTrust } from './put-rules.ts';

const MODES: readonly Settings['mode'][] = ['guarded', 'strict', 'open'];

/** Writes `mode` into a file, unless a file of higher precedence or the organisation decides on it. */
export async function setMode(input: Input, words: readonly string[]): Promise<number> {
  const mode = readMode(words);
  const before = await readConfig(openOptions(input));
  const target = await ruleFileFor(before, input);
  requireInForce(mode, before, target);
  const { after } = await changeFile(
    {
      file: target.file,
      edit: (text) => withSetting(text.trim() === '' ? emptyFile(target.schema) : text, 'mode', mode),
      report: { mode, scope: target.scope },
      summary: `Set mode ${mode} in ${target.file} (${target.scope}).`,
    },
    input,
  );
  if (input.flag('dry-run')) return 0;
  const { scope } = target;
  if (scope !== 'config') await writeSchema({ ...target, scope, foreign: false }, after);
  const { settings } = await settleTrust(target, before, input);
  if (settings.mode !== mode) notice(`Mode ${settings.mode} is in force, not ${mode}: \`heddle config explain mode\`.`);
  return 0;
}

function readMode([word = '', ...more]: readonly string[]): Settings['mode'] {
  const mode = MODES.find((one) => one === word);
  if (mode !== undefined && more.length === 0) return mode;
  const meant = closest(word, MODES);
  throw new HeddleError('USAGE_INVALID', more.length > 0 ? 'One mode at a time.' : `There is no mode ${word}.`, {
    fix: meant === undefined ? `Use one of ${MODES.join(', ')}.` : `Did you mean ${meant}?`,
  });
}

/** Throws CONFIG_INVALID if another file would still decide on the mode. */
function requireInForce(mode: Settings['mode'], config: Config, { file }: RuleFile): void {
  const managed = mode === 'open' ? config.exclusive : undefined;
  const stronger = managed ?? strongerThan(config, file)?.at;
  if (stronger === undefined) return;
  const place = `${stronger.file}:${stronger.line}`;
  const why = managed
    ? `this machine is managed by ${place}, and mode open would allow more calls.`
    : `\`mode\` in ${place} is stronger.`;
  throw new HeddleError('CONFIG_INVALID', `Mode ${mode} was not written, because it would have no effect: ${why}`, {
    fix: managed ? 'Ask the administrator of this machine.' : `Change it there, or with \`--scope\` of that file.`,
  });
}

/** Returns the origin of `mode` if its file has higher precedence than this one. */
function strongerThan({ origins, files }: Config, file: string): ValueOrigin | undefined {
  const origin = origins.get('mode');
  if (origin === undefined || origin.at.file === file) return undefined;
  const rank = (path: string) => {
    const at = files.findIndex((one) => one.file === path);
    return at < 0 ? Number.POSITIVE_INFINITY : at;
  };
  return rank(origin.at.file) < rank(file) ? origin : undefined;
}
