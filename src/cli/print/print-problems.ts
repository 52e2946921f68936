import colors from 'picocolors';
import type { Problem } from '../../config/config.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { printStatement } from './print-line.ts';

/** Prints problems of the configuration to stderr, with location and fix. */
export function printProblems(problems: readonly Problem[]): void {
  for (const { level, message, fix, at } of problems) {
    const where = at ? `${oneLine(at.file)}:${at.line}:${at.column}: ` : '';
    const word = level === 'error' ? colors.red('config error') : colors.yellow('config warning');
    printStatement({ start: `${word}: ${where}`, message, fix }, process.stderr);
  }
}

/** Prints problems of whole files, whose rules may be missing from the active configuration. */
export function printFileProblems(problems: readonly Problem[]): void {
  printProblems(problems.filter(({ server }) => server === undefined));
}
