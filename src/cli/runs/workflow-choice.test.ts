import { resolve } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { WorkflowSummary } from '../../core/records/workflow.ts';
import { resolveCodeFile } from './workflow-choice.ts';

const files = {
  known: async () => [{ name: 'digest', file: resolve('flows/digest.ts') } as WorkflowSummary],
  untrusted: async () => [{ name: 'new', file: resolve('flows/new.ts'), text: '' }],
};

verifies('W4', 'a .ts file is run as the trusted workflow that it defines, and no other code is run', async () => {
  expect(await resolveCodeFile('flows/digest.ts', files)).toBe('digest');
  expect(await resolveCodeFile('digest', files)).toBe('digest');
  await expect(resolveCodeFile('flows/new.ts', files)).rejects.toMatchObject({
    code: 'WORKFLOW_INVALID',
    fix: expect.stringContaining('heddle trust'),
  });
  await expect(resolveCodeFile('other.ts', files)).rejects.toMatchObject({
    code: 'WORKFLOW_INVALID',
    message: 'other.ts is no workflow of the configuration, so its code is not run.',
    fix: expect.stringContaining('.heddle/workflows/'),
  });
});
