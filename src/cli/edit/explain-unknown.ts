import type { Config } from '../../config/config.ts';
import { BUILTINS } from '../../config/schema/server-name.ts';
import { HeddleError } from '../../core/errors.ts';

/** Replaces NAME_UNKNOWN by the reason why an existing server cannot be edited here. */
export async function explainUnknown<T>({ servers }: Config, name: string, search: Promise<T>): Promise<T> {
  try {
    return await search;
  } catch (thrown) {
    const at = servers.get(name)?.at;
    if (HeddleError.from(thrown).code !== 'NAME_UNKNOWN') throw thrown;
    if (at) {
      throw new HeddleError(
        'NAME_UNKNOWN',
        `\`${name}\` is written at ${at.file}:${at.line}, which is in another scope or is not a file that Heddle edits.`,
        {
          cause: thrown,
          fix: 'Change it there, or leave `--scope` out.',
        },
      );
    }
    if (!BUILTINS.has(name)) throw thrown;
    throw new HeddleError('NAME_UNKNOWN', `\`${name}\` comes with Heddle and is in no file.`, {
      cause: thrown,
      fix: `Set \`builtins.${name}.enabled\` to false in heddle.json to disable it, or to true to enable it.`,
    });
  }
}
