import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';

/** Creates the error of a word that is no verb of a command. */
export function unknownVerb(command: string, word: string, verbs: readonly string[]): HeddleError {
  const meant = closest(word, verbs);
  const [last = '', ...others] = verbs.toReversed().map((verb) => `\`${verb}\``);
  const named = `${others.toReversed().join(', ')} or ${last}`.replace('`', `\`heddle ${command} `);
  return new HeddleError('USAGE_INVALID', `Use ${named}.`, {
    ...(meant && { fix: `Did you mean \`heddle ${command} ${meant}\`?` }),
  });
}

/** Returns the only word after a verb. `list` is the command that shows the ids. */
export function oneId(words: readonly string[], verb: string, list: string): string {
  const [id, ...more] = words;
  if (id !== undefined && more.length === 0) return id;
  throw new HeddleError('USAGE_INVALID', `\`heddle ${verb}\` takes one id.`, {
    fix: `Run \`${list}\` to see the ids.`,
  });
}
