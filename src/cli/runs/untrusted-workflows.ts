import { basename, extname, resolve } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import type { LintReport } from '../../core/records/workflow.ts';
import type { HeddleOptions } from '../../open-heddle.ts';
import type { Input } from '../command.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { runOptions } from '../terminal-call.ts';
import { openOptions } from '../with-heddle.ts';

const FIX = 'Review it, then run `heddle trust` once (in CI: pass --trust-project).';

/** A workflow file of the project that the user has not agreed to. */
export interface UntrustedWorkflow {
  readonly name: string;
  readonly file: string;
  readonly text: string;
}

/** Returns the workflow files of the project that are left out because they are untrusted. */
export async function untrustedWorkflows(input: Input): Promise<readonly UntrustedWorkflow[]> {
  const { readConfig } = await import('../../config/read-config.ts');
  const { projectFolder, untrusted } = await readConfig(openOptions(input));
  return untrusted.flatMap(({ thing, also }) => {
    const [, path] = /^workflow (.+)$/s.exec(thing) ?? [];
    if (path === undefined) return [];
    return [{ name: basename(path, extname(path)), file: resolve(projectFolder, path), text: also.join('\n') }];
  });
}

/**
 * Returns the options of `run` and `lint`. The warnings about the untrusted workflows of these words are left out: the
 * command says itself that they are untrusted, or does what needs no trust. Without a word, those about code.
 */
export const workflowRunOptions = (input: Input, words: readonly string[]): HeddleOptions => ({
  ...runOptions(input),
  onProblems: (problems) => printFileProblems(problems.filter(({ workflow }) => !isNamed(workflow, words))),
});

function isNamed(file: string | undefined, words: readonly string[]): boolean {
  if (file === undefined) return false;
  if (words.length === 0) return file.endsWith('.ts');
  return words.some((word) => resolve(word) === file || word === basename(file, extname(file)));
}

/** Returns the findings about untrusted code: it is not run, so it is not checked. */
export const untrustedReport = ({ name, file }: UntrustedWorkflow): LintReport => ({
  name,
  file,
  problems: [
    {
      level: 'error',
      code: 'WORKFLOW_UNTRUSTED',
      message: 'It is code that came with this project and is untrusted, so it was not checked.',
      fix: FIX,
      at: { file, line: 1, column: 1 },
    },
  ],
  estimate: { minCalls: 0, maxCalls: 0 },
});

/** Replaces the error about an unknown workflow if the project has one of this name that is untrusted. */
export async function explainUntrusted(thrown: unknown, name: string, input: Input): Promise<unknown> {
  if (HeddleError.from(thrown).code !== 'NAME_UNKNOWN') return thrown;
  const found = (await untrustedWorkflows(input)).find((one) => one.name === name);
  return found ? untrustedError(found) : thrown;
}

/** Returns the error of a workflow that came with the project and is untrusted. */
export const untrustedError = ({ name, file }: UntrustedWorkflow): HeddleError =>
  new HeddleError('WORKFLOW_INVALID', `The workflow ${name} came with this project and is untrusted: ${file}.`, {
    fix: FIX,
  });
