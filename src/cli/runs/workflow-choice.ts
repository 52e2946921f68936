import { resolve } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import type { WorkflowSummary } from '../../core/records/workflow.ts';
import type { WorkflowChoice } from '../../core/records/workflow-api.ts';
import { textSources } from '../input/read-source.ts';
import { type UntrustedWorkflow, untrustedError } from './untrusted-workflows.ts';

const IS_FILE = /\.(ya?ml|jsonc?)$/i;

/** Returns the workflow that a word names: a file of data by its ending, `-` for YAML or JSON on stdin, else the word. */
export async function workflowChoice(word: string): Promise<WorkflowChoice> {
  if (word === '-') return { file: '<stdin>', text: await textSources().read('-'), language: 'yaml' };
  if (!IS_FILE.test(word)) return word;
  return { file: resolve(word), text: await textSources().read(word) };
}

export interface CodeFiles {
  /** Lists the workflows of the configuration. */
  readonly known: () => Promise<readonly WorkflowSummary[]>;
  readonly untrusted: () => Promise<readonly UntrustedWorkflow[]>;
}

/**
 * Replaces the file of a TypeScript workflow by the name of the workflow. Its code is run only as part of the
 * configuration, and there only once it is trusted. Throws WORKFLOW_INVALID for any other `.ts` file.
 */
export async function resolveCodeFile(
  choice: WorkflowChoice,
  { known, untrusted }: CodeFiles,
): Promise<WorkflowChoice> {
  if (typeof choice !== 'string' || !choice.endsWith('.ts')) return choice;
  const file = resolve(choice);
  const found = (await known()).find((one) => one.file === file);
  if (found) return found.name;
  const waiting = (await untrusted()).find((one) => one.file === file);
  if (waiting) throw untrustedError(waiting);
  throw new HeddleError('WORKFLOW_INVALID', `${choice} is no workflow of the configuration, so its code is not run.`, {
    fix: 'Put the file into `.heddle/workflows/`, run `heddle trust`, and repeat the command with its new path.',
  });
}
