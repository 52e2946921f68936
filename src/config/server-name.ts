/** What is wrong with a name for a server; undefined when nothing is. */
export function complaintAboutName(name: string): string | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(name)) {
    return `The server name ${JSON.stringify(name)} has characters other than letters, digits, \`-\` and \`_\`.`;
  }
  const reserved = name === 'heddle' || name === 'workflow' || name.startsWith('heddle-');
  return reserved ? `The server name \`${name}\` is reserved for Heddle itself.` : undefined;
}
