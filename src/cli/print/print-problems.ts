import colors from 'picocolors';
import type { Problem } from '../../config/config.ts';
import { oneLine } from './escape-control.ts';
import { state } from './say.ts';

/** Says on stderr what is wrong with the configuration: where, what, and what to do. */
export function printProblems(problems: readonly Problem[]): void {
  for (const { level, message, fix, at } of problems) {
    const where = at ? `${oneLine(at.file)}:${at.line}:${at.column}: ` : '';
    const word = level === 'error' ? colors.red('config error') : colors.yellow('config warning');
    state({ start: `${word}: ${where}`, message, fix }, process.stderr);
  }
}

/** Says what is wrong with whole files: rules in them may be missing from what is in force. */
export function printFileProblems(problems: readonly Problem[]): void {
  printProblems(problems.filter(({ server }) => server === undefined));
}
