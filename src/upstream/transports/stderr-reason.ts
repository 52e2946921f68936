import { stripVTControlCharacters } from 'node:util';
import { redactText } from '../../core/text/redact-text.ts';
import { NEEDED_VARIABLE } from './start-fix.ts';

const MAX_QUOTE_CHARS = 400;
const MAX_QUOTE_LINES = 4;

/** Lines that installers and runtimes print in any case: they never give the reason of a failure. */
const NOISE = [
  /^npm (?:warn|notice|http|verb|info|sill)\b/i,
  /^npm (?:error|ERR!) (?:A complete log of this run|.*-debug-\d+\.log)/,
  /^\(node:\d+\) .*Warning:/,
  /^\(Use `node --trace-/,
  /^Node\.js v\d/,
  /^\[notice\] /,
  /^(?:Resolved|Prepared|Installed|Uninstalled|Audited) \d+ packages? in /,
  /^\s*(?:Downloading|Downloaded|Building|Built|Updating|Updated) \S+(?: \(.*\))?$/,
  /^(?:Need to install the following packages|Ok to proceed\?)/,
  // Printed by the `unshare` around a server, when the server has to be killed.
  /^unshare: sigprocmask (?:un)?block failed\b/,
];

/** Lines that begin an error, by how surely they do so: exceptions and installers first, then words of failure. */
const ERRORS = [
  /^(?:Uncaught )?(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)\b(?: \[\w+\])?:/,
  /^npm (?:error|ERR!) (?!code )\S/,
  /^(?:error|fatal|panic|docker|fatal error)\b.{0,40}:/i,
  /^\s*×\s/,
  /^thread '.*' panicked at/,
  /^Exception in thread/,
  NEEDED_VARIABLE,
  /(?:command )?not found\b|No such file or directory/,
  /\b(?:error|fatal|failed|failure|cannot|can't|could not|unable|missing|invalid|denied|refused|required|must be)\b/i,
];

const STACK = /^\s+at\s|^\s*\^+\s*$|^\s+File "|^\s+throw\b|^goroutine \d/;
const NPM = /^npm (?:error|ERR!)(?: \d{3}\b| code \S+$)?\s*/;

/** Removes colours, empty lines and the routine output of installers and runtimes. */
export function meaningfulLines(stderr: string): readonly string[] {
  const lines = stripVTControlCharacters(stderr).split(/\r\n|\r|\n/);
  return lines.map((line) => line.trimEnd()).filter((line) => line !== '' && !NOISE.some((noise) => noise.test(line)));
}

/**
 * Returns the part of the stderr that explains a failure, on one line: it begins with the first error line. Without an
 * error line it is the last lines. Empty if there is only routine output. Secrets are redacted.
 */
export function stderrReason(stderr: string): string {
  const text = reasonLines(stderr).map(redactText).join(' ');
  return text.length <= MAX_QUOTE_CHARS ? text : `${text.slice(0, MAX_QUOTE_CHARS).replace(/\s\S*$/, '')} …`;
}

/** Returns the lines of the stderr that explain a failure. Their secrets are not redacted. */
export function reasonLines(stderr: string): readonly string[] {
  const lines = meaningfulLines(stderr);
  const from = errorLine(lines);
  const others = () => lines.filter((line) => !STACK.test(line)).slice(-MAX_QUOTE_LINES);
  const chosen = from < 0 ? others() : errorLines(lines.slice(from));
  return chosen
    .map((line, at) => (at === 0 ? line : line.replace(NPM, '')).trim().replace(/\s+/g, ' '))
    .filter((line) => line !== '');
}

function errorLine(lines: readonly string[]): number {
  // The exception is the first line after the indented part of the last traceback.
  const traceback = lines.findLastIndex((line) => line.startsWith('Traceback (most recent call last)'));
  const exception = lines.findIndex((line, at) => at > traceback && /^\S/.test(line));
  if (traceback >= 0 && exception >= 0) return exception;
  for (const pattern of ERRORS) {
    const found = lines.findIndex((line) => pattern.test(line) && !STACK.test(line));
    if (found >= 0) return found;
  }
  return -1;
}

/** Returns an error line and the lines that continue it, up to its stack. */
function errorLines(lines: readonly string[]): readonly string[] {
  const end = lines.findIndex((line, at) => at > 0 && STACK.test(line));
  return lines.slice(0, Math.min(end < 0 ? lines.length : end, MAX_QUOTE_LINES));
}
