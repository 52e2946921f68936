import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aStep, aWorkflow, simulate } from '../fixtures.ts';

const CODE = aStep('code', {
  id: 'code',
  source: '',
  tools: ['s.get'],
  limits: { wallMs: 1000, memoryBytes: 1, calls: 1 },
});

verifies('W3', 'gives the code of a failed call to the sandbox, so that code can catch it', async () => {
  const { output } = await simulate(
    aWorkflow([CODE]),
    { tool: () => ({ error: { code: 'PERMISSION_DENIED' } }) },
    { runCode: (_request, host) => host.call(0, 's.get', {}).catch(({ code }) => ({ caught: code })) },
  );
  expect(output).toEqual({ caught: 'PERMISSION_DENIED' });
});
