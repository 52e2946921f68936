import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json, JsonObject } from '../src/core/call.ts';
import { HeddleError } from '../src/core/errors.ts';
import { compileCheck } from '../src/schema/compile.ts';

const SUITE = 'security/json-schema-test-suite/tests';
/** By folder: the dialect that its schemas are written in. */
const DIALECTS: Readonly<Record<string, string>> = {
  'draft2020-12': 'https://json-schema.org/draft/2020-12/schema',
  draft7: 'http://json-schema.org/draft-07/schema#',
};
const LEADS_OUT = 'leads out of it, and nothing is fetched';

interface Group {
  readonly description: string;
  readonly schema: JsonObject | boolean;
  readonly tests: readonly { readonly description: string; readonly data: Json; readonly valid: boolean }[];
}

/** Checks every required case of the JSON Schema test suite. Returns false if one has the wrong verdict. */
export function evaluateSchemas(data: string): boolean {
  const folder = join(data, SUITE);
  if (!existsSync(folder)) {
    process.stdout.write(`${SUITE} is not in the data folder: nothing to check.\n`);
    return true;
  }
  return Object.entries(DIALECTS)
    .map(([draft, dialect]) =>
      report(
        draft,
        groupsIn(join(folder, draft)).flatMap((group) => outcomes(group, dialect)),
      ),
    )
    .every((isRight) => isRight);
}

/** Reads the groups of all files of a draft; the folder `optional` is left out. */
function groupsIn(folder: string): readonly (Group & { readonly file: string })[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .flatMap((file) =>
      (JSON.parse(readFileSync(join(folder, file), 'utf8')) as Group[]).map((one) => ({ ...one, file })),
    );
}

type Outcome = 'right' | 'remote' | { readonly wrong: string };

function outcomes(group: Group & { readonly file: string }, dialect: string): readonly Outcome[] {
  const { schema, file, description, tests } = group;
  const named = typeof schema === 'boolean' ? { $schema: dialect, allOf: [schema] } : { $schema: dialect, ...schema };
  return tests.map((test): Outcome => {
    const found = named.$schema === dialect ? verdictOn(named, test.data) : 'remote'; // Another dialect is a remote document.
    if (found === test.valid) return 'right';
    return found === 'remote' ? found : { wrong: `${file}: ${description}: ${test.description}: ${found}` };
  });
}

function verdictOn(schema: JsonObject, data: Json): boolean | 'remote' | string {
  try {
    return compileCheck(schema, 'The schema')(data) === undefined;
  } catch (thrown) {
    const { message } = HeddleError.from(thrown);
    return message.includes(LEADS_OUT) ? 'remote' : message;
  }
}

function report(draft: string, found: readonly Outcome[]): boolean {
  const remote = found.filter((one) => one === 'remote').length;
  const wrong = found.flatMap((one) => (typeof one === 'object' ? [one.wrong] : []));
  const checked = found.length - remote;
  process.stdout.write(
    `${draft}: ${checked - wrong.length} of ${checked} right; ${remote} more need a remote document\n${wrong.map((one) => `  ${one}\n`).join('')}`,
  );
  return wrong.length === 0;
}
