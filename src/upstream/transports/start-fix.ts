import { anyCase } from '../../core/text/any-case.ts';
import { redactText } from '../../core/text/redact-text.ts';
import { raiseTimeout } from '../protocol/connect-timeout.ts';

// Every length is bounded: a server writes the text.
const NAME = '(?!ERR_)[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,8}';
// What follows `=` is a value.
const NAMES = String.raw`(?<!=["'\`]?)\b${NAME}\b(?:["'\`]?(?:,| and| or){1,2} ?["'\`]?${NAME}\b){0,3}`;
const LACKING = anyCase(
  String.raw`(?:not (?:been )?(?:set|defined|found|provided|configured|specified)|unset|undefined|missing|required|empty|(?:must|needs? to|has to) be (?:set|provided|defined|specified|given))\b`,
);
const WANTED = anyCase(
  String.raw`\b(?:missing|requires?|required|provide(?! an export)|set|define|specify|export(?! named)|needs?|keyerror|no(?=[^.;]{0,120}(?:\benv|variable)))\b`,
);

/** Text that names a variable of the environment as missing: `FOO_KEY is not set`, `Please set FOO_KEY`. */
export const NEEDED_VARIABLE = new RegExp(
  `(?<before>${NAMES})[^.;]{0,60}?${LACKING}|${WANTED}[^.;]{0,80}?(?<after>${NAMES})`,
);

/** The output of a server that did not start, and the settings that the fix depends on. */
export interface FailedStart {
  readonly server: string;
  /** True if its process ended, false if it did not answer in time. */
  readonly ended: boolean;
  /** The lines of stderr that explain the failure. */
  readonly reason: string;
  /** The same lines with their secrets. Only names of variables are taken from them. */
  readonly unredacted: string;
  /** The first line on stdout that is no JSON-RPC message. */
  readonly stray: string;
  /** The variables of its entry. */
  readonly own: Readonly<Record<string, string>>;
  /** Those of Heddle, most of which servers do not get. */
  readonly ours: Readonly<Record<string, string | undefined>>;
}

/** Returns the one thing to do about a server that did not start. */
export function startFix(start: FailedStart): string {
  const { server, ended, reason, unredacted, stray } = start;
  const printed = `${reason}\n${stray}`;
  return (
    fixOfVariables(start, `${unredacted}\n${stray}`) ??
    fixOfReason(server, printed) ??
    (stray !== ''
      ? `Start ${server} in its stdio mode with the \`args\` that its documentation names; if it serves HTTP, write its \`url\` in place of \`command\`.`
      : ended
        ? fixOfEnd(server, reason)
        : `${raiseTimeout(server)}; check that its \`args\` start it in its stdio mode.`)
  );
}

const fixOfEnd = (server: string, reason: string) =>
  reason === ''
    ? `Check in its documentation which \`args\` start ${server} as an MCP server over stdio.`
    : `Correct what its stderr names, in \`command\`, \`args\` or \`env\` of ${server}.`;

function fixOfVariables({ server, own, ours }: FailedStart, printed: string): string | undefined {
  const { before, after } = NEEDED_VARIABLE.exec(printed)?.groups ?? {};
  const names = (before ?? after ?? '').match(new RegExp(NAME, 'g')) ?? [];
  const [name] = names;
  if (name === undefined || redactText(names.join(' ')) !== names.join(' ')) return undefined;
  const all = names.slice(0, 3).join(', ');
  if (names.every((one) => Object.hasOwn(own, one))) return `Correct ${all} in \`env\` of ${server}.`;
  const unset = names.find((one) => !Object.hasOwn(own, one)) ?? name;
  if (ours[unset] !== undefined) {
    return `Add \`"${unset}": "\${${unset}}"\` to \`env\` of ${server}: servers get no other variables of this shell.`;
  }
  const secret = `${server}.${unset}`.replace(/[^A-Za-z0-9_.-]/g, '-');
  return `Set ${all} in \`env\` of ${server}: \`"${unset}": "\${secret:${secret}}"\` after \`heddle secret set ${secret}\`, or the value itself.`;
}

/** Texts of well-known failures, and the fix of each. A group is the part that the fix names. */
const REASONS: readonly (readonly [RegExp, (server: string, found: string) => string])[] = [
  [/npm (?:error|ERR!) 404\b|not found in the package registry/, () => 'Check the name of the package in its command.'],
  [
    /\bECONNREFUSED\b ?([^\s,;)]*)/,
    (_, at) => `Check that a server runs at ${at || 'the address that it connects to'}.`,
  ],
  [
    /\bENOTFOUND\b ?([^\s,;)]*)/,
    (_, at) => `Check the host name in its settings: ${at || 'the address that it connects to'} is unknown.`,
  ],
  [
    /\b(?:EADDRINUSE\b.*?:(\d+)\b|address already in use)/i,
    (server, port) =>
      `End the program that uses ${port ? `port ${port}` : 'this port'}, or give ${server} another port in its \`args\` or \`env\`.`,
  ],
  [
    /(?:Cannot find module|can't open file|No such file or directory:?|Module not found) ["'“]?(\/[^"'”\s]+)/,
    (server, file) => `Correct the path in \`args\` of ${server}: there is no ${file}.`,
  ],
  [
    /(?:No module named|Cannot find (?:module|package)) ["'“]([\w@./-]+)/,
    (server, name) => `Install ${name} for the program in \`command\` of ${server}.`,
  ],
  [
    /(?:^|\s)([\w@./+-]+): (?:command )?not found|env: [‘'"]?([\w./+-]+)[’'"]?: No such file/m,
    (server, name) => `Install ${name || 'that program'}, or correct \`command\` and \`args\` of ${server}.`,
  ],
  [/\b(?:EACCES|[Pp]ermission denied)\b/, (server) => `Give ${server} access to what its stderr names.`],
  [/docker daemon/i, () => 'Start Docker.'],
  [/^\s*(?:usage|syntax):/im, (server) => `Correct \`args\` of ${server}: it printed how it is used.`],
];

function fixOfReason(server: string, printed: string): string | undefined {
  for (const [pattern, fix] of REASONS) {
    const found = pattern.exec(printed);
    if (found) return fix(server, (found[1] ?? found[2] ?? '').replace(/[.,;)]+$/, ''));
  }
  return undefined;
}
