import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json, JsonObject } from '../src/core/call.ts';
import { isObject } from '../src/core/json.ts';
import { toAnthropic } from '../src/translate/anthropic.ts';
import { toGemini } from '../src/translate/gemini/gemini.ts';
import type { Loss } from '../src/translate/loss.ts';
import { toOpenAi } from '../src/translate/openai/openai.ts';
import { toOpenAiStrict } from '../src/translate/openai/openai-strict.ts';
import { fromZod } from '../src/translate/zod/from-zod.ts';
import { toZod } from '../src/translate/zod/zod.ts';
import { anthropicProblems, geminiProblems, openAiProblems, openAiStrictProblems } from './dialect-rules.ts';

const TOOLS = 'security/benign-docker-mcp-registry-tools/servers';
const SHOWN_LOSSES = 6;

interface Outcome {
  readonly problems: readonly string[];
  readonly lost: readonly Loss[];
}

const DIALECTS: { readonly [name: string]: (tool: JsonObject) => Outcome } = {
  anthropic(tool) {
    const { value, lost } = toAnthropic(tool);
    return { problems: anthropicProblems({ ...value }), lost };
  },
  openai(tool) {
    const { value, lost } = toOpenAi(tool);
    return { problems: openAiProblems({ ...value }), lost };
  },
  'openai strict'(tool) {
    const { value, lost } = toOpenAiStrict(tool);
    const parameters = value.function.parameters as JsonObject;
    return { problems: [...openAiProblems({ ...value }), ...openAiStrictProblems(parameters)], lost };
  },
  gemini(tool) {
    const { value, lost } = toGemini(tool);
    return { problems: geminiProblems({ ...value }), lost };
  },
  zod(tool) {
    const { value, lost } = toZod(tool.inputSchema ?? { type: 'object' });
    const back = fromZod(value);
    return { problems: isObject(back.value) ? [] : ['it has no JSON Schema'], lost: [...lost, ...back.lost] };
  },
};

/** Translates the tools of a public registry into every dialect. Returns false if a result is invalid. */
export function evaluateTranslation(data: string): boolean {
  const folder = join(data, TOOLS);
  if (!existsSync(folder)) {
    process.stdout.write(`${TOOLS} is not in the data folder: nothing to translate.\n`);
    return true;
  }
  const tools = readdirSync(folder).flatMap((server) => readTools(join(folder, server, 'tools.json')));
  const described = tools.filter(({ inputSchema }) => inputSchema !== undefined).length;
  process.stdout.write(`${tools.length} tools, ${described} of them with a schema\n\n`);
  return Object.entries(DIALECTS)
    .map(([name, translate]) => report(name, tools.map(translate)))
    .every((isValid) => isValid);
}

function readTools(file: string): readonly JsonObject[] {
  if (!existsSync(file)) return [];
  const tools: readonly JsonObject[] = JSON.parse(readFileSync(file, 'utf8'));
  return tools.map(({ arguments: list, ...tool }) =>
    Array.isArray(list) && tool.inputSchema === undefined ? { ...tool, inputSchema: schemaOf(list) } : tool,
  );
}

/** Converts the registry's own list of arguments, which some tools have, to a JSON Schema. */
function schemaOf(list: readonly JsonObject[]): Json {
  const properties = list.map(({ name, desc, optional: _, required: __, ...schema }) => [
    name,
    { ...schema, ...(typeof desc === 'string' && { description: desc }) },
  ]);
  const required = list.filter((one) => one.required ?? !one.optional).map(({ name }) => name as string);
  return { type: 'object', properties: Object.fromEntries(properties), required };
}

function report(name: string, outcomes: readonly Outcome[]): boolean {
  const invalid = outcomes.filter(({ problems }) => problems.length > 0);
  const exact = outcomes.filter(({ lost }) => lost.every(({ effect }) => effect === 'note')).length;
  const lossless = outcomes.filter(({ lost }) => lost.length === 0).length;
  const total = outcomes.length;
  const line = [`valid ${total - invalid.length}/${total}`, `same arguments ${exact}`, `nothing lost ${lossless}`];
  process.stdout.write(`${name.padEnd(14)} ${line.join('   ')}\n`);
  for (const [loss, count] of topLosses(outcomes)) process.stdout.write(`  ${String(count).padStart(5)}  ${loss}\n`);
  for (const { problems } of invalid.slice(0, SHOWN_LOSSES)) process.stdout.write(`  INVALID ${problems[0]}\n`);
  return invalid.length === 0;
}

function topLosses(outcomes: readonly Outcome[]): readonly (readonly [string, number])[] {
  const tools = outcomes.flatMap(({ lost }) => [
    ...new Set(lost.map(({ keyword, effect, reason }) => `${keyword} (${effect}): ${reason}`)),
  ]);
  const counts = Map.groupBy(tools, (loss) => loss);
  return [...counts]
    .map(([loss, all]) => [loss, all.length] as const)
    .toSorted((one, other) => other[1] - one[1])
    .slice(0, SHOWN_LOSSES);
}
