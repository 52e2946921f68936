/** What a local server may see of ours without being told: where programs and folders are, and how to speak to people. */
const PASSED_ON = [
  'HOME',
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
] as const;

/** The environment of a local server: a safe part of ours, then its own entries. */
export function childEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of PASSED_ON) {
    const value = ours[name];
    // A shell function smuggled in as a variable would run in the child's shell.
    if (value !== undefined && !value.startsWith('()')) environment[name] = value;
  }
  return { ...environment, ...own };
}
