import { resolve } from 'node:path';
import type { WorkflowChoice } from '../../core/records/workflow-api.ts';
import { textSources } from '../input/read-source.ts';

const IS_FILE = /\.(ya?ml|jsonc?)$/i;

/** Returns the workflow that a word names: a file by its ending, `-` for YAML or JSON on stdin, else a name. */
export async function workflowChoice(word: string): Promise<WorkflowChoice> {
  if (word === '-') return { file: '<stdin>', text: await textSources().read('-'), language: 'yaml' };
  if (!IS_FILE.test(word)) return word;
  return { file: resolve(word), text: await textSources().read(word) };
}
