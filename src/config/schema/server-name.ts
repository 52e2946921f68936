/** Whether Heddle keeps a name for itself. */
export const isReservedName = (name: string): boolean => /^(heddle(-.*)?|workflow)$/s.test(name);

/** What is wrong with a name for a server; undefined when nothing is. */
export function findNameProblem(name: string): string | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(name)) {
    return `The server name ${JSON.stringify(name)} has characters other than letters, digits, \`-\` and \`_\`.`;
  }
  return isReservedName(name) ? `The server name \`${name}\` is reserved for Heddle itself.` : undefined;
}

/** Names of the servers that come with Heddle. */
export const BUILTINS: ReadonlySet<string> = new Set(['filesystem', 'database']);
