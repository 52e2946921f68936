import { scopeDefining } from '../../config/edit/edit-scopes.ts';
import { withField } from '../../config/edit/edit-servers.ts';
import { readConfig } from '../../config/read-config.ts';
import { type Command, type Input, JSON_OPTION } from '../command.ts';
import { changeFile, DRY_RUN_OPTION } from '../edit/change-file.ts';
import { oneName, placesOf, readScope, SCOPE_OPTION } from '../edit/edit-scope.ts';
import { explainUnknown } from '../edit/explain-unknown.ts';
import { noticeWithoutForce, requireOwnServers } from '../edit/managed-servers.ts';

const SWITCH_OPTIONS: Command['options'] = { scope: SCOPE_OPTION, 'dry-run': DRY_RUN_OPTION, json: JSON_OPTION };

export const enable: Command = {
  summary: 'Let a server start again.',
  usage: 'heddle enable NAME [--scope SCOPE]',
  examples: ['heddle enable github'],
  maxPositionals: 1,
  options: SWITCH_OPTIONS,
  run: (input) => switchServer(input, true),
};

export const disable: Command = {
  summary: 'Keep a server from starting, and its entry as it is.',
  usage: 'heddle disable NAME [--scope SCOPE]',
  examples: ['heddle disable github', 'heddle disable github --dry-run'],
  maxPositionals: 1,
  options: SWITCH_OPTIONS,
  run: (input) => switchServer(input, false),
};

/** Writes `enabled` into the entry of a server, in the file that has it. */
async function switchServer(input: Input, enabled: boolean): Promise<number> {
  const verb = enabled ? 'enable' : 'disable';
  const name = oneName(input, `server to ${verb}`);
  const config = await readConfig();
  const { file, scope } = await explainUnknown(config, name, scopeDefining(placesOf(config), name, readScope(input)));
  if (enabled) requireOwnServers(config, [name], 'enabled');
  await changeFile(
    {
      file,
      edit: (before) => withField(before, name, { path: ['enabled'], value: enabled }),
      report: { name, enabled, scope },
      summary: `${name} is ${verb}d in ${file} (${scope}).`,
    },
    input,
  );
  noticeWithoutForce(config, name);
  return 0;
}
