import type { SignIn } from '../../core/records/sign-in.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { printColumns } from '../print/print-columns.ts';
import { notice, printStatement } from '../print/print-line.ts';

const STATES: Readonly<Record<SignIn['state'], string>> = {
  'signed-in': 'signed in',
  needed: 'sign-in needed',
  'in-progress': 'in progress',
  failed: 'failed',
  none: 'not signed in',
};

/** Returns a sign-in for `--json`, with its time as ISO 8601. */
export function signInRow({ expiresAt, ...signIn }: SignIn): object {
  return { ...signIn, ...(expiresAt !== undefined && { expires: new Date(expiresAt).toISOString() }) };
}

/** Prints sign-ins as a table, and below it the reasons of those that are needed or failed. */
export function printSignIns(signIns: readonly SignIn[]): void {
  if (signIns.length === 0) notice('There is no server that a sign-in is possible to.');
  else printRows(signIns);
}

function printRows(signIns: readonly SignIn[]): void {
  printColumns(
    [
      { title: 'SERVER', of: ({ server }) => server },
      { title: 'STATE', of: ({ state }) => STATES[state] },
      { title: 'ACCOUNT', of: ({ principal }) => principal },
      { title: 'ISSUER', of: ({ issuer = '' }) => issuer, optional: true },
      { title: 'SCOPES', of: ({ scopes }) => scopes.join(' '), optional: true },
      { title: 'EXPIRES', of: expiryOf, optional: true },
    ],
    signIns,
  );
  for (const { server, state, reason } of signIns) {
    if (reason === undefined || state === 'signed-in') continue;
    const fix = `Run \`heddle auth login ${server}\`.`;
    printStatement({ start: `\n${oneLine(server)}: `, message: oneLine(reason), fix }, process.stdout);
  }
}

/** Returns the end of the access token. A renewable one needs no sign-in at that time. */
function expiryOf({ expiresAt, isRenewable }: SignIn): string {
  if (expiresAt === undefined) return '';
  return `${new Date(expiresAt).toISOString()}${isRenewable ? ', renewed' : ''}`;
}
