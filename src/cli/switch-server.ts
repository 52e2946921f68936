import { holderOf } from '../config/edit-scopes.ts';
import { withField } from '../config/edit-servers.ts';
import { readConfig } from '../open-heddle.ts';
import { changeFile, DRY_RUN_OPTION } from './change-file.ts';
import { type Command, type Input, JSON_OPTION } from './command.ts';
import { oneName, placesOf, readScope, SCOPE_OPTION } from './edit-scope.ts';
import { explainUnknown } from './explain-unknown.ts';

export const SWITCH_OPTIONS: Command['options'] = { scope: SCOPE_OPTION, 'dry-run': DRY_RUN_OPTION, json: JSON_OPTION };

/** Writes `enabled` into the entry of a server, where it is written. */
export async function switchServer(input: Input, enabled: boolean): Promise<number> {
  const verb = enabled ? 'enable' : 'disable';
  const name = oneName(input, `server to ${verb}`);
  const config = await readConfig();
  const { file, scope } = await explainUnknown(config, name, holderOf(placesOf(config), name, readScope(input)));
  await changeFile(
    {
      file,
      edit: (before) => withField(before, name, { path: ['enabled'], value: enabled }),
      report: { name, enabled, scope },
      line: `${name} is ${verb}d in ${file} (${scope}).`,
    },
    input,
  );
  return 0;
}
