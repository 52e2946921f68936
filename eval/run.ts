// node eval/run.ts [translate | json | schema | sql-readonly …]
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { evaluateJson } from './json.ts';
import { evaluateSchemas } from './schema.ts';
import { evaluateReadOnlySql } from './sql-readonly.ts';
import { evaluateTranslation } from './translate.ts';

/** The evaluations. Each prints its findings and returns true if they are good enough. */
const EVALUATIONS: { readonly [name: string]: (data: string) => boolean | Promise<boolean> } = {
  translate: evaluateTranslation,
  json: evaluateJson,
  schema: evaluateSchemas,
  'sql-readonly': evaluateReadOnlySql,
};

const data = process.env.HEDDLE_EVAL_DATA ?? resolve(import.meta.dirname, '../../shared/data');
const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !Object.hasOwn(EVALUATIONS, name));
if (unknown) throw new Error(`${unknown} is not an evaluation; those are ${Object.keys(EVALUATIONS).join(', ')}.`);

if (existsSync(data)) {
  for (const [name, evaluate] of Object.entries(EVALUATIONS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    process.stdout.write(`# ${name}\n`);
    if (!(await evaluate(data))) process.exitCode = 1;
  }
} else {
  process.stdout.write('There is no data to evaluate on; set HEDDLE_EVAL_DATA to its folder (see eval/README.md).\n');
}
