import { scopeDefining } from '../../config/edit/edit-scopes.ts';
import { withoutServer } from '../../config/edit/edit-servers.ts';
import { readConfig } from '../../config/read-config.ts';
import { type Command, JSON_OPTION } from '../command.ts';
import { changeFile, DRY_RUN_OPTION } from '../edit/change-file.ts';
import { oneName, placesOf, readScope, SCOPE_OPTION } from '../edit/edit-scope.ts';
import { explainUnknown } from '../edit/explain-unknown.ts';
import { notice } from '../print/print-line.ts';

export const remove: Command = {
  summary: 'Remove a server from the file that has it.',
  usage: 'heddle remove NAME [--scope SCOPE]',
  examples: ['heddle remove time', 'heddle remove time --scope user --dry-run'],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: { scope: SCOPE_OPTION, 'dry-run': DRY_RUN_OPTION, json: JSON_OPTION },
  async run(input) {
    const name = oneName(input, 'server to remove');
    const config = await readConfig();
    const { file, scope } = await explainUnknown(config, name, scopeDefining(placesOf(config), name, readScope(input)));
    await changeFile(
      {
        file,
        edit: (before) => withoutServer(before, name),
        report: { removed: name, scope },
        summary: `Removed ${name} from ${file} (${scope}).`,
      },
      input,
    );
    if (input.flag('dry-run')) return 0;
    const left = (await readConfig()).servers.get(name)?.at;
    if (left) notice(`${name} is still in ${left.file}:${left.line}, which is active now.`);
    return 0;
  },
};
