import * as z from 'zod';
import type { Scope, SourceFile } from '../config.ts';
import type { Document, DocumentFinding, JsonPath } from '../document.ts';
import { describeIssues } from '../read/describe-issue.ts';
import type { Layer } from '../read/layer.ts';
import { policiesIn } from '../read/layer-policies.ts';
import { parseDocument } from '../read/parse-document.ts';
import { readConfigFile, sourceFile } from '../read/read-file.ts';
import { keysAt } from '../read/schema-keys.ts';
import { strictBy } from '../read/strict-by-error.ts';
import { policies } from '../schema/access-schema.ts';
import type { PolicyFolder } from './find-policies.ts';

const schema = z.strictObject({
  $schema: z.string().exactOptional(),
  policies: policies.describe('The rules.'),
});

const MAX_KEYS = 100;

/** The notice of a problem that leaves a rule out of force. */

/** A policy file that was read. */
export interface PolicyReading {
  readonly layer: Layer;
  readonly source: SourceFile;
}

/** Reads all files of a policy folder, in the order of their names. */
export const readPolicyFolder = ({ files, scope, needsTrust }: PolicyFolder): Promise<readonly PolicyReading[]> =>
  Promise.all(files.map((file) => readPolicyFile(file, { scope, needsTrust })));

/** Reads one policy file. A file with an error gives a layer that sets mode strict and has its valid rules. */
export async function readPolicyFile(
  file: string,
  { scope, needsTrust = false }: { readonly scope: Scope; readonly needsTrust?: boolean },
): Promise<PolicyReading> {
  const isYaml = !file.toLowerCase().endsWith('.json');
  const parse = isYaml ? (await import('../read/yaml-document.ts')).parseYamlDocument : parseDocument;
  const reading = await readConfigFile(file, { parse });
  const source: SourceFile = { ...sourceFile(file, scope, reading), isPolicy: true };
  const empty: Layer = { scope, needsTrust, servers: [], settings: [], connectors: [], problems: [] };
  if (reading.state === 'absent') return { layer: empty, source };
  if (reading.state === 'broken') return { layer: { ...empty, ...strictBy([reading.problem]) }, source };
  const { document } = reading;
  const wrong = [...document.findings, ...issuesOf(document)];
  const problems = wrong.map(({ problem }) => problem);
  const layer = { ...empty, policies: policiesIn(document, document.root.policies, wrong), ...strictBy(problems) };
  return { layer, source: problems.length === 0 ? source : { ...source, state: 'broken' } };
}

function issuesOf(document: Document): readonly DocumentFinding[] {
  const value = document.root;
  const keys = Object.keys(value).length;
  if (keys > MAX_KEYS) return [tooManyKeys(document, keys)];
  const checked = { document, at: [], value, knownKeys: (path: JsonPath) => keysAt(schema, path) };
  return describeIssues(schema.safeParse(value).error?.issues ?? [], checked);
}

// Each unknown key is compared with the known ones and located.
function tooManyKeys({ file, locate }: Document, keys: number): DocumentFinding {
  const message = `${file} has ${keys} keys at the top; a policy file has only \`policies\`.`;
  const fix = 'Remove the others.';
  return { path: [], problem: { level: 'error', code: 'CONFIG_INVALID', message, fix, at: locate([]) } };
}
