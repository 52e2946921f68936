import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller } from '../../core/call.ts';
import type { RunQuery } from '../../core/records/run.ts';
import type { WorkflowSummary } from '../../core/records/workflow.ts';
import { ANN, RUN } from './fixtures.ts';
import { workflowFindings } from './workflow-findings.ts';

const summary = (more: Partial<WorkflowSummary>): WorkflowSummary =>
  ({ name: 'digest', digest: 'd', steps: 2, input: {}, problems: [], ...more }) as WorkflowSummary;

verifies('W6', 'doctor lists workflows, their problems with the place, and runs in doubt', async () => {
  const at = { file: '/elsewhere/pay.yaml', line: 3, column: 5 };
  const problem = {
    level: 'error',
    code: 'TOOL_UNKNOWN',
    message: 'No tool is named bank.py.',
    fix: 'Fix it.',
    at,
  } as const;
  const site = {
    workflows: { list: async () => [summary({}), summary({ name: 'pay', problems: [problem] })] },
    runs: {
      list: async (_by: Caller, { status }: RunQuery) =>
        status === 'in_doubt'
          ? [{ ...RUN, status }]
          : [{ ...RUN, id: 'run_2', status: 'running' as const, stopped: true as const }],
    },
  };
  expect(await workflowFindings(site, ANN)).toMatchObject([
    { level: 'ok', subject: 'workflows', message: 'There are 2: digest, pay.' },
    {
      level: 'error',
      subject: 'workflow pay',
      message: '/elsewhere/pay.yaml:3:5: TOOL_UNKNOWN: No tool is named bank.py.',
    },
    {
      level: 'warn',
      subject: 'run run_2',
      message: expect.stringContaining('no process executes it'),
      fix: expect.stringContaining('heddle runs resume run_2'),
    },
    { level: 'warn', subject: 'run run_1', fix: expect.stringContaining('heddle runs show run_1') },
  ]);
});

verifies('W6', 'doctor says nothing about workflows without any', async () => {
  const none = { workflows: { list: async () => [] }, runs: { list: async () => [] } };
  expect(await workflowFindings(none, ANN)).toEqual([]);
});
