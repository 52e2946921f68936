import type { Caller } from '../../core/call.ts';
import { unknownServer } from '../../core/records/unknown-server.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { visibleServers } from '../remote/visible-servers.ts';
import { notAnArgument } from './read-arguments.ts';

/** A name on the command line, with the words of its arguments. */
export interface NamedWords {
  readonly first: string;
  /** A second word that is no argument: `first` is then the name of a server. */
  readonly second?: string;
  readonly words: readonly string[];
}

/** Splits `server.tool key=value …` and `server tool key=value …`; undefined if there is no name. */
export function splitName([first, ...words]: readonly string[]): NamedWords | undefined {
  if (first === undefined || first.includes('=')) return undefined;
  const [second, ...others] = words;
  return second === undefined || second.includes('=') ? { first, words } : { first, second, words: others };
}

/** Returns the whole name. Two words are a server and its tool or prompt. */
export async function wholeName(
  heddle: Pick<CommandHeddle, 'servers'>,
  caller: Caller,
  { first, second }: NamedWords,
): Promise<string> {
  if (second === undefined) return first;
  const isArgument = /^[{[-]/.test(second) || /[.]|__/.test(first);
  const names = (await visibleServers(heddle, caller))?.map(({ name }) => name);
  if (names ? names.includes(first) : !isArgument) return `${first}.${second}`;
  if (isArgument) throw notAnArgument(second);
  throw unknownServer(first, names ?? []);
}
