import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { deskWith } from '../../src/cli/commands/fixtures.ts';
import { verifies } from '../requirements.ts';

const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples', 'workflows');

verifies('W3', 'the incident of the examples is mitigated after the approval of another person', async () => {
  const { heddle, path } = await deskWith();
  cpSync(EXAMPLES, path('project'), { recursive: true });
  const env = { DEMO_CALLS: path('calls') };
  const config = JSON.parse(readFileSync(path('project/heddle.json'), 'utf8'));
  expect(Object.keys(config.workflows)).toContain('mitigate-incident');
  for (const _ of ['the settings', 'the workflow files that they name']) await heddle(['trust', '--yes']);
  const key = (await heddle(['key', 'create', 'ops', '--role', 'approver'])).stdout.trim();
  const waiting = await heddle(['run', 'mitigate-incident', 'service=shop'], { env });
  expect([waiting.code, waiting.stdout]).toEqual([6, '']);
  const [, run = '', approval = ''] = /The run (\S+) waits for the approval (ap_\w+)\./.exec(waiting.stderr) ?? [];
  const approved = await heddle(['approvals', 'approve', approval], { env: { HEDDLE_KEY: key } });
  expect(approved).toMatchObject({ code: 0, stdout: `Approved ${approval} for the run ${run}.\n` });
  const resumed = await heddle(['runs', 'resume', run], { env });
  expect([resumed.code, JSON.parse(resumed.stdout)]).toEqual([0, { rate: 0.002 }]);
  const shown = (await heddle(['runs', 'show', run])).stdout;
  expect(shown).toMatch(/✓ flag[\s\S]*✓ ok[\s\S]*✓ rollback[\s\S]*✓ verify/);
});
