import type { Config } from '../../config/config.ts';
import { explain } from '../../config/explain.ts';
import { readConfig } from '../../config/read-config.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { printJson } from '../print/print-json.ts';
import { printProblems } from '../print/print-problems.ts';
import { printTable } from '../print/print-table.ts';
import { openOptions } from '../with-heddle.ts';

const VERBS = { explain: explainConfig, schema: printSchema, path: printPaths } as const;
type Verb = keyof typeof VERBS;

export const config: Command = {
  summary: 'Show what is in force, where it was written, and what it overrides; the schema; the files.',
  usage: 'heddle config explain [server | server.field | key] | heddle config schema | heddle config path',
  examples: [
    'heddle config explain',
    'heddle config explain gateway.port',
    'heddle config explain github --json',
    'heddle config schema > heddle.schema.json',
    'heddle config path',
  ],
  maxPositionals: 2,
  options: { config: CONFIG_OPTION, 'trust-project': TRUST_OPTION, json: JSON_OPTION },
  async run(input) {
    const [verb = '', ...words] = input.positionals;
    const most = verb === 'explain' ? 1 : 0;
    if (Object.hasOwn(VERBS, verb) && words.length <= most) return VERBS[verb as Verb](input);
    const meant = Object.hasOwn(VERBS, verb) ? undefined : closest(verb, Object.keys(VERBS));
    const message = 'Use `heddle config explain [key]`, `heddle config schema` or `heddle config path`.';
    throw new HeddleError('USAGE_INVALID', message, {
      ...(meant && { fix: `Did you mean \`heddle config ${meant}\`?` }),
    });
  },
};

async function explainConfig(input: Input): Promise<number> {
  const found = await readConfig(openOptions(input));
  const rows = explain(found, input.positionals[1]);
  if (input.flag('json')) printJson(rows);
  else {
    printTable(['KEY', 'VALUE', 'FROM', 'OVERRIDES'], rows.map(toCells));
    printProblems(found.problems);
  }
  return 0;
}

async function printSchema(): Promise<number> {
  const { configJsonSchema } = await import('../../config/schema/json-schema.ts');
  process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return 0;
}

async function printPaths(input: Input): Promise<number> {
  const { files } = await readConfig(openOptions(input));
  if (input.flag('json')) printJson(files.map(({ version: _, ...file }) => file));
  else printTable(['SCOPE', 'STATE', 'FILE'], files.map(toPathCells));
  return 0;
}

function toPathCells({ scope, state, file }: Config['files'][number]): string[] {
  return [scope, state, file];
}

function toCells({ key, value, scope, file, line, column, shadowed }: ReturnType<typeof explain>[number]): string[] {
  const from = file === undefined ? scope : `${scope} ${file}:${line}:${column}`;
  return [key, JSON.stringify(value) ?? '', from, shadowed.map(({ file, line }) => `${file}:${line}`).join(', ')];
}
