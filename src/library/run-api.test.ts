import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { temporaryHeddle } from '../../test/temporary-heddle.ts';
import type { Json } from '../core/call.ts';
import { runApi } from './run-api.ts';

const LATE = { heddle: 1, name: 'late', steps: [{ id: 'w', wait: { for: '1ms' } }] };

verifies(
  'W6',
  'refuses an input that JSON cannot express, as a call does, and a definition nested too deeply',
  async () => {
    const heddle = runApi(await temporaryHeddle({ config: { mode: 'open' }, store: ':memory:' }), {});
    let deep: Json = 1;
    for (let level = 0; level < 20_000; level += 1) deep = [deep];
    const invalid = { code: 'INPUT_INVALID', message: expect.stringContaining('cannot be written as JSON') };
    await expect(heddle.run(LATE, { deep })).rejects.toMatchObject(invalid);
    await expect(heddle.run(LATE, { deep }, { dryRun: true })).rejects.toMatchObject(invalid);
    await expect(heddle.run(LATE, { code: (() => 1) as never })).rejects.toMatchObject(invalid);
    const nested = { ...LATE, var: { deep } };
    await expect(heddle.workflows.register(nested)).rejects.toMatchObject({ code: 'WORKFLOW_INVALID' });
  },
);
