import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** The name under which `heddle connect` writes Heddle into another host's file. */
export const OWN_NAME = 'heddle';

/**
 * Tells whether an entry of another host's file is Heddle itself: one that starts `heddle serve --stdio` under any name,
 * or the URL that `heddle connect` wrote. A gateway that used it as a server would connect to itself.
 */
export function isOwnEntry(name: string, entry: Json | undefined): boolean {
  if (!isObject(entry)) return false;
  const { command, args = [], url, serverUrl, httpUrl } = entry;
  if (name === OWN_NAME && [url, serverUrl, httpUrl].some((one) => typeof one === 'string')) return true;
  const words = [command ?? [], args].flat().filter((word) => typeof word === 'string');
  const before = words.slice(0, Math.max(words.indexOf('serve'), 0)); // After it, `heddle` may be a folder.
  return before.some(isHeddleCommand) && words.includes('--stdio');
}

const isHeddleCommand = (word: string) => /(?:^|[\\/])heddle(?:\.cmd)?$/.test(word);
