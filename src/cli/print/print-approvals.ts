import type { ApprovalCount } from '../../core/records/approval-count.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { printStatement } from './print-line.ts';

/** Describes a count, with the command that allows the tools. `configFile` is that of `--config`. */
export function describeApprovals(count: ApprovalCount, configFile?: string): { message: string; fix: string } {
  const { group, tools, needApproval, allow, allowMild, left, leftBy } = count;
  const whose = `${tools} ${tools === 1 ? 'tool' : 'tools'} of ${group}`;
  const start = `${needApproval} of ${whose} ${needApproval === 1 ? 'asks' : 'ask'} for approval`;
  const options = configFile === undefined ? [] : ['--config', configFile];
  const why = left === 0 ? '' : `${left === needApproval ? '' : `, ${left} of them`} by ${leftBy.join(', ')}`;
  const shows = leftBy.every((rule) => rule === 'built-in')
    ? 'No rule allows that: each call is approved by itself.'
    : `\`${quoteCommand(['heddle', 'permissions', ...options])}\` shows where that rule is written.`;
  const command = `\`${quoteCommand(['heddle', 'permissions', 'allow', ...allow, ...options])}\``;
  const which = left > 0 ? `the other ${needApproval - left}` : needApproval === 1 ? 'it' : 'them';
  const risky = allow.join() === allowMild.join() ? '' : riskOf(needApproval - left);
  const allows = `${command} allows ${which}${risky}`;
  const fix = allow.length === 0 ? shows : left > 0 ? `${allows}; ${shows}` : `${allows}.`;
  return { message: `${start}${why}.`, fix };
}

const riskOf = (tools: number): string =>
  tools === 1 ? ', though it is destructive or of high risk' : ', destructive and high-risk ones included';

/** Prints a count to stderr, unless no tool needs approval. */
export function printApprovals(count: ApprovalCount, configFile?: string): void {
  if (count.needApproval > 0) printStatement({ start: '', ...describeApprovals(count, configFile) }, process.stderr);
}

/** Returns the counts of the groups that a server belongs to; without a server all of them. */
export const approvalsOf = (counts: readonly ApprovalCount[], server?: string): readonly ApprovalCount[] =>
  counts.filter(({ servers }) => server === undefined || servers.includes(server));
