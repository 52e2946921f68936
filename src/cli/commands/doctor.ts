import colors from 'picocolors';
import { readConfig } from '../../config/read-config.ts';
import { HeddleError } from '../../core/errors.ts';
import type { ApprovalCount } from '../../core/records/approval-count.ts';
import type { Finding } from '../../core/records/finding.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { CONFIG_OPTION, type Command, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { hostFindings } from '../connect/host-summaries.ts';
import { requireUninterrupted, untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { approvalsOf, describeApprovals } from '../print/print-approvals.ts';
import { printJson } from '../print/print-json.ts';
import { printStatement } from '../print/print-line.ts';
import { workflowFindings } from '../runs/workflow-findings.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

const MARKS = { ok: colors.green('✓'), warn: colors.yellow('!'), error: colors.red('✗') } as const;

const APPROVALS = 'approvals';

export const doctor: Command = {
  summary: 'Check everything, or one server: connects it and says what is wrong and what to do.',
  usage: 'heddle doctor [server]',
  examples: ['heddle doctor', 'heddle doctor github --json'],
  maxPositionals: 1,
  options: { config: CONFIG_OPTION, 'trust-project': TRUST_OPTION, json: JSON_OPTION },
  async run(input) {
    const [server, ...more] = input.positionals;
    if (more.length > 0) throw new HeddleError('USAGE_INVALID', 'One server at a time.');
    const signal = untilInterrupted();
    if (process.stderr.isTTY) process.stderr.write('Connecting …\r');
    const by = localCaller();
    const findings = await withHeddle(openOptions(input), async (heddle) => {
      // An abort ends some checks with an error of their own.
      const found = await heddle.doctor(by, server, signal).finally(() => requireUninterrupted(signal));
      const counts = approvalsOf(await heddle.approvalCounts(by), server).filter(
        ({ needApproval }) => needApproval > 0,
      );
      const approvals = counts.map((count) => approvalFinding(count, input.text('config')));
      return [...found, ...approvals, ...(server === undefined ? await workflowFindings(heddle, by) : [])];
    });
    const all = server === undefined ? [...findings, ...(await hostFindings(await readConfig()))] : findings;
    if (input.flag('json')) printJson(all);
    else {
      for (const { level, subject, message, fix } of all) {
        const start = `${MARKS[level]} ${colors.bold(oneLine(subject))}: `;
        printStatement(
          { start, message, fix: level === 'ok' && subject !== APPROVALS ? undefined : fix },
          process.stdout,
        );
      }
    }
    return all.some(({ level }) => level === 'error') ? 1 : 0;
  },
};

const approvalFinding = (count: ApprovalCount, configFile: string | undefined): Finding => ({
  level: 'ok',
  subject: APPROVALS,
  ...describeApprovals(count, configFile),
  facts: { ...count },
});
