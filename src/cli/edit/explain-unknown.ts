import type { Config } from '../../config/config.ts';
import { HeddleError } from '../../core/errors.ts';

const BUILT_IN: readonly string[] = ['filesystem', 'database'];

/** Says why a server that is there, but not in a file of ours, cannot be edited. */
export async function explainUnknown<T>({ servers }: Config, name: string, looking: Promise<T>): Promise<T> {
  try {
    return await looking;
  } catch (thrown) {
    const at = servers.get(name)?.at;
    if (HeddleError.from(thrown).code !== 'NAME_UNKNOWN') throw thrown;
    if (at) {
      throw new HeddleError(
        'NAME_UNKNOWN',
        `\`${name}\` is written at ${at.file}:${at.line}, which was not asked for or is not a file that Heddle edits.`,
        {
          cause: thrown,
          fix: 'Change it there, or leave `--scope` out.',
        },
      );
    }
    if (!BUILT_IN.includes(name)) throw thrown;
    throw new HeddleError('NAME_UNKNOWN', `\`${name}\` comes with Heddle and is in no file.`, {
      cause: thrown,
      fix: `Set \`builtins.${name}.enabled\` in heddle.json.`,
    });
  }
}
