// Writes docs/errors.md from the one table of errors.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS, type Fault } from '../src/core/errors.ts';

const ROOT = join(import.meta.dirname, '..');

const FAULTS = {
  caller: 'Yours: the request or the configuration has to change.',
  denied: 'Nobody’s: a rule said no.',
  upstream: 'The server’s, or the way to it.',
  internal: 'Heddle’s own.',
} as const satisfies Record<Fault, string>;

const EXITS = [
  [0, 'It worked.'],
  [1, 'The answer is no: a tool or workflow reported an error, or a check failed.'],
  [2, 'The command line, a name or the input is wrong.'],
  [3, 'The configuration is wrong, or something it needs is missing here.'],
  [4, 'A sign-in is needed.'],
  [5, 'Denied.'],
  [6, 'A person has to approve it first.'],
  [7, 'No answer in time.'],
  [8, 'The server could not be reached, or failed.'],
  [9, 'It may have happened; Heddle does not know and does not repeat it.'],
  [70, 'A mistake in Heddle.'],
  [130, 'Interrupted.'],
] as const;

/** docs/errors.md as it should read now. */
export function errorsPage(): string {
  return `# Errors

Written by \`npm run docs\` from \`src/core/errors.ts\`; do not edit it here.

Every error has a code, a message that says what happened and why, and a fix. The codes and the exit codes are part
of the interface: scripts may rely on them.

| exit | meaning |
|---|---|
${EXITS.map(([exit, meaning]) => `| ${exit} | ${meaning} |`).join('\n')}

| whose problem | |
|---|---|
${Object.entries(FAULTS)
  .map(([fault, meaning]) => `| ${fault} | ${meaning} |`)
  .join('\n')}

${Object.entries(ERRORS).map(section).join('\n')}`;
}

function section([code, { fault, exit, when, fix }]: [string, (typeof ERRORS)[keyof typeof ERRORS]]): string {
  return `## ${code}

${when}

- whose problem: ${fault}
- exit code: ${exit}
- what to do: ${fix}
`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs', 'errors.md'), errorsPage());
