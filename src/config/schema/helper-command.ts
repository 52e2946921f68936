/** Returns the program and the arguments that a `headersHelper` runs: a text is a line for the shell. */
export const helperCommand = (helper: string | readonly string[]): readonly string[] =>
  typeof helper === 'string' ? ['/bin/sh', '-c', helper] : helper;
