import { basename, extname, resolve } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import type { Input } from '../command.ts';
import { openOptions } from '../with-heddle.ts';

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

/** Replaces the error about an unknown workflow if the project has one of this name that is untrusted. */
export async function explainUntrusted(thrown: unknown, name: string, input: Input): Promise<unknown> {
  if (HeddleError.from(thrown).code !== 'NAME_UNKNOWN') return thrown;
  const found = (await untrustedWorkflows(input)).find((one) => one.name === name);
  return found ? untrustedError(found) : thrown;
}

/** Returns the error of a workflow that came with the project and is untrusted. */
export const untrustedError = ({ name, file }: UntrustedWorkflow): HeddleError =>
  new HeddleError('WORKFLOW_INVALID', `The workflow ${name} came with this project and is untrusted: ${file}.`, {
    fix: 'Review it, then run `heddle trust` once (in CI: pass --trust-project).',
  });
