import { previewValue } from '../../config/edit/preview.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { Option } from '../command.ts';
import { isRunner } from './derive-name.ts';

/**
 * Returns `heddle add NAME -- command …` for a command that was given without `--`; undefined if there is none. Words
 * after the first one of the command belong to it, options included. Secrets are redacted.
 */
export function meantAdd(argv: readonly string[], options: Readonly<Record<string, Option>>): string | undefined {
  const start = commandAt(argv, options);
  const command = start === undefined ? [] : argv.slice(start);
  if (!isCommand(command[0] ?? '')) return undefined;
  const own = argv.slice(0, start).map((word) => word.replace(/^((?:--\w+=)?\w[\w-]*(?:=|: ?))(?!\$\{).+/s, '$1…'));
  const shown = (previewValue(command) as readonly string[]).map(String);
  return quoteCommand(['heddle', 'add', ...own, '--', ...shown]);
}

/** Returns the index of the first word of the command: the second word, or the first if it is a runner such as npx. */
function commandAt(argv: readonly string[], options: Readonly<Record<string, Option>>): number | undefined {
  const words: number[] = [];
  for (let at = 0; at < argv.length && words.length < 2; at++) {
    const word = argv[at] ?? '';
    const option = word.startsWith('-') ? options[word.replace(/^--|=.*$/gs, '')] : undefined;
    if (option?.type === 'string' && !word.includes('=')) at++; // Its value.
    if (!word.startsWith('-')) words.push(at);
    else if (option === undefined) break;
  }
  const [first, second] = words;
  return first !== undefined && isRunner(argv[first] ?? '') ? first : second;
}

/** Returns false for a URL, JSON, a file with JSON, and `-`. */
const isCommand = (word: string) => !/^[a-z]+:\/|^sqlite:|^\s*[{"]|\.jsonc?$|^-|^$/i.test(word);
