import { expect } from 'vitest';
import { describeApprovals } from '../../src/cli/print/print-approvals.ts';
import { verifies } from '../requirements.ts';

verifies('L5', 'says of a single tool that it is risky, and of several that risky ones are included', () => {
  const count = {
    group: 'files',
    servers: ['files'],
    tools: 5,
    allow: ['mcp__files'],
    allowMild: [],
    left: 0,
    leftBy: [],
  };
  const fixOf = (needApproval: number) => describeApprovals({ ...count, needApproval }).fix;
  expect(fixOf(1)).toBe('`heddle permissions allow mcp__files` allows it, though it is destructive or of high risk.');
  expect(fixOf(2)).toBe('`heddle permissions allow mcp__files` allows them, destructive and high-risk ones included.');
});
