import { explain } from '../../config/explain.ts';
import { HeddleError } from '../../core/errors.ts';
import { readConfig } from '../../open-heddle.ts';
import { CONFIG_OPTION, type Command, JSON_OPTION } from '../command.ts';
import { printJson } from '../print-json.ts';
import { printProblems } from '../print-problems.ts';
import { printTable } from '../print-table.ts';
import { openOptions } from '../with-heddle.ts';

export const config: Command = {
  summary: 'Show what is in force, where it was written, and what it overrides.',
  usage: 'heddle config explain [server | server.field | key]',
  examples: ['heddle config explain', 'heddle config explain gateway.port', 'heddle config explain github --json'],
  options: { config: CONFIG_OPTION, json: JSON_OPTION },
  async run(input) {
    const [verb, subject, ...more] = input.positionals;
    if (verb !== 'explain' || more.length > 0) {
      throw new HeddleError('USAGE_INVALID', 'Say `heddle config explain`, and what if not everything.');
    }
    const found = await readConfig(openOptions(input));
    const rows = explain(found, subject);
    if (input.flag('json')) printJson(rows);
    else {
      printTable(['KEY', 'VALUE', 'FROM', 'OVERRIDES'], rows.map(toCells));
      printProblems(found.problems);
    }
    return 0;
  },
};

function toCells({ key, value, scope, file, line, column, shadowed }: ReturnType<typeof explain>[number]): string[] {
  const from = file === undefined ? scope : `${scope} ${file}:${line}:${column}`;
  return [key, JSON.stringify(value) ?? '', from, shadowed.map(({ file, line }) => `${file}:${line}`).join(', ')];
}
