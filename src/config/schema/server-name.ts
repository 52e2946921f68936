import { cutText } from '../../core/text/cut-text.ts';

const MAX_NAME_CHARS = 200;

/** Tells whether a server name is reserved for Heddle. */
export const isReservedName = (name: string): boolean => /^(heddle(-.*)?|workflow)$/s.test(name);

/** Returns the reason why a server name is invalid; undefined if it is valid. */
export function findNameProblem(name: string): string | undefined {
  if (name.length > MAX_NAME_CHARS) {
    return `The server name ${cutText(JSON.stringify(name.slice(0, 80)), 80)} has ${name.length} characters; ${MAX_NAME_CHARS} are allowed.`;
  }
  if (!/^[A-Za-z0-9_-]+$/.test(name)) {
    return `The server name ${JSON.stringify(name)} has characters other than letters, digits, \`-\` and \`_\`.`;
  }
  return isReservedName(name) ? `The server name \`${name}\` is reserved for Heddle itself.` : undefined;
}

/** The names of the built-in servers. */
export const BUILTINS: ReadonlySet<string> = new Set(['filesystem', 'database']);
