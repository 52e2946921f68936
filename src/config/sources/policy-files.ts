import { stat } from 'node:fs/promises';
import * as z from 'zod';
import type { Problem, Scope, SourceFile } from '../config.ts';
import type { Document, DocumentFinding, JsonPath } from '../document.ts';
import { checkBySchema, describeIssues, hasTooManyValues, tooManyValues } from '../read/describe-issue.ts';
import type { Layer } from '../read/layer.ts';
import { policiesIn } from '../read/layer-policies.ts';
import { parseDocument } from '../read/parse-document.ts';
import { readConfigFile, sourceFile } from '../read/read-file.ts';
import { keysAt } from '../read/schema-keys.ts';
import { strictBy } from '../read/strict-by-error.ts';
import type { TokenBudget } from '../read/yaml-document.ts';
import { policies } from '../schema/access-schema.ts';
import type { SourceFolder } from './source-folders.ts';

const schema = z.strictObject({
  $schema: z.string().exactOptional(),
  policies: policies.describe('The rules.'),
});

const MAX_KEYS = 100;
const MAX_FILES = 1000;
/** The most bytes of all files of a folder. */
const MAX_BYTES = 2 * 1024 * 1024;
/** The most tokens of all YAML files of a folder: a megabyte may have a million, which take seconds. */
const MAX_TOKENS = 150_000;

/** A policy file that was read. */
export interface PolicyReading {
  readonly layer: Layer;
  readonly source: SourceFile;
}

/** Reads all files of a policy folder, in the order of their names. */
export async function readPolicyFolder({ files, scope, needsTrust }: SourceFolder): Promise<readonly PolicyReading[]> {
  const readings: PolicyReading[] = [];
  const tokens: TokenBudget = { most: MAX_TOKENS, left: MAX_TOKENS };
  let left = MAX_BYTES;
  for (const file of files) {
    left -= await stat(file).then(
      ({ size }) => size,
      () => 0,
    );
    if (left < 0 || readings.length === MAX_FILES) return [...readings, surplusFile(file, { scope, needsTrust })];
    readings.push(await readPolicyFile(file, { scope, needsTrust, tokens }));
  }
  return readings;
}

/** The first file that is too many. Its rules and those of the files after it do not count, so mode strict is set. */
function surplusFile(file: string, { scope, needsTrust }: Pick<SourceFolder, 'scope' | 'needsTrust'>): PolicyReading {
  const message = `${file} and the files after it are not read: a folder may have ${MAX_FILES} policy files of ${MAX_BYTES} bytes in all.`;
  const problem: Problem = {
    ...{ level: 'error', code: 'CONFIG_INVALID', message, fix: 'Combine rules, or remove files.' },
    at: { file, line: 1, column: 1 },
  };
  const layer = { scope, needsTrust, servers: [], connectors: [], ...strictBy([problem]) };
  return { layer, source: { file, scope, state: 'broken', isPolicy: true } };
}

interface PolicyFileOptions {
  readonly scope: Scope;
  readonly needsTrust?: boolean;
  /** The tokens of the whole folder. */
  readonly tokens?: TokenBudget;
}

/** Reads one policy file. A file with an error gives a layer that sets mode strict and has its valid rules. */
export async function readPolicyFile(
  file: string,
  { scope, needsTrust = false, tokens = { most: MAX_TOKENS, left: MAX_TOKENS } }: PolicyFileOptions,
): Promise<PolicyReading> {
  const isYaml = !file.toLowerCase().endsWith('.json');
  const parse = isYaml ? await yamlParser(tokens) : parseDocument;
  const reading = await readConfigFile(file, { parse });
  const source: SourceFile = { ...sourceFile(file, scope, reading), isPolicy: true };
  const empty: Layer = { scope, needsTrust, servers: [], settings: [], connectors: [], problems: [] };
  if (reading.state === 'absent') return { layer: empty, source };
  if (reading.state === 'broken') return { layer: { ...empty, ...strictBy([reading.problem]) }, source };
  const { document } = reading;
  const wrong = [...document.findings, ...issuesOf(document)];
  const problems = [...new Set(wrong.map(({ problem }) => problem))];
  const layer = { ...empty, policies: policiesIn(document, document.root.policies, wrong), ...strictBy(problems) };
  return { layer, source: problems.length === 0 ? source : { ...source, state: 'broken' } };
}

async function yamlParser(tokens: TokenBudget) {
  const { parseYamlDocument } = await import('../read/yaml-document.ts');
  return (path: string, text: string) => parseYamlDocument(path, text, tokens);
}

function issuesOf(document: Document): readonly DocumentFinding[] {
  const value = document.root;
  const keys = Object.keys(value).length;
  if (keys > MAX_KEYS) return [tooManyKeys(document, keys)];
  if (hasTooManyValues(value)) return [{ path: [], problem: tooManyValues(document) }];
  const checked = { document, at: [], value, knownKeys: (path: JsonPath) => keysAt(schema, path) };
  return describeIssues(checkBySchema(schema, value).issues, checked);
}

// Each unknown key is compared with the known ones and located.
function tooManyKeys({ file, locate }: Document, keys: number): DocumentFinding {
  const message = `${file} has ${keys} keys at the top; a policy file has only \`policies\`.`;
  const fix = 'Remove the others.';
  return { path: [], problem: { level: 'error', code: 'CONFIG_INVALID', message, fix, at: locate([]) } };
}
