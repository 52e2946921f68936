// Writes docs/errors.md from the table of errors.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS, type Fault } from '../src/core/error-codes.ts';

const ROOT = join(import.meta.dirname, '..');

const FAULTS = {
  caller: 'The request or the configuration is wrong.',
  denied: 'A rule denied the call.',
  upstream: 'The server or the connection to it failed.',
  internal: 'Heddle failed.',
} as const satisfies Record<Fault, string>;

const EXITS = [
  [0, 'Success.'],
  [1, 'A tool or workflow reported an error, or a check failed.'],
  [2, 'The command line, a name or the input is wrong.'],
  [3, 'The configuration is wrong, or a program or service that it needs is missing.'],
  [4, 'A sign-in is needed.'],
  [5, 'Denied.'],
  [6, 'An approval is needed.'],
  [7, 'Timeout.'],
  [8, 'The server could not be reached, or failed.'],
  [9, 'The outcome is unknown: the call may have had its effect. Heddle does not repeat it.'],
  [70, 'A bug in Heddle.'],
  [130, 'Interrupted.'],
] as const;

/** Returns the current text of docs/errors.md. */
export function errorsPage(): string {
  return `# Errors

Written by \`npm run docs\` from \`src/core/errors.ts\`; do not edit it here.

Every error has a code, a message with the cause, and a fix. The codes and the exit codes are part of the interface:
scripts may rely on them.

| exit | meaning |
|---|---|
${EXITS.map(([exit, meaning]) => `| ${exit} | ${meaning} |`).join('\n')}

| fault | meaning |
|---|---|
${Object.entries(FAULTS)
  .map(([fault, meaning]) => `| ${fault} | ${meaning} |`)
  .join('\n')}

${Object.entries(ERRORS).map(section).join('\n')}`;
}

function section([code, { fault, exit, when, fix }]: [string, (typeof ERRORS)[keyof typeof ERRORS]]): string {
  return `## ${code}

${when}

- fault: ${fault}
- exit code: ${exit}
- fix: ${fix}
`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs', 'errors.md'), errorsPage());
