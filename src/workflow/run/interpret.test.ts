import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json } from '../../core/call.ts';
import type { Step, StepBase } from '../definition/canonical.ts';
import { aCallStep, aStep, aWorkflow, cel, ref, simulate, world } from '../fixtures.ts';
import type { World } from '../steps/fixtures.ts';

const RETRY = { max: 2, backoff: 'exponential', initialMs: 100, capMs: 1000, jitter: false } as const;
const FAILED = { error: { code: 'UPSTREAM_FAILED', mayHaveActed: false } };

const run = (steps: readonly Step[], of: World = world()) => simulate(aWorkflow(steps), of);

describe('steps in order', () => {
  verifies('W1', 'passes results by reference and returns the result of the last executed step', async () => {
    const end = await run([
      aCallStep('first', { input: { n: 1 } }),
      aStep('tool', {
        id: 'second',
        tool: 'second',
        input: { object: { n: ref('first.result.n'), v: ref('first.status') } },
      }),
      aCallStep('third', { if: cel('$first.result.n > 1') }),
    ]);
    expect(end).toMatchObject({ status: 'succeeded', stepsExecuted: 2, output: { tool: 'second', n: 1, v: 'ok' } });
  });

  verifies('W1', 'fails the step of an error result with its text', async () => {
    const raw = { isError: true, content: [{ type: 'text', text: 'no such file' }] };
    const end = await run([aCallStep('read')], world({ read: { raw } }));
    expect(end.error).toMatchObject({ code: 'TOOL_ERROR', path: 'read' });
    expect(end.error?.message).toContain('no such file');
  });
});

describe('errors', () => {
  const cases: [Partial<StepBase>, Json][] = [
    [{ onError: 'skip' }, { tool: 'before' }],
    [{ onError: 'fallback' }, { fallback: true, error: 'The call failed with UPSTREAM_FAILED.' }],
    [
      { onError: 'fallback', fallback: { mapping: { object: { code: ref('self.error.code') } } } },
      { code: 'UPSTREAM_FAILED' },
    ],
    [{ onError: 'fallback', fallback: aCallStep('other') }, { tool: 'other' }],
  ];
  for (const [options, output] of cases) {
    verifies('W3', `goes on after a failed step with ${JSON.stringify(options).slice(0, 60)}`, async () => {
      const end = await run([aCallStep('before'), aCallStep('bad', options)], world({ bad: FAILED }));
      expect(end).toMatchObject({ status: 'succeeded', output });
    });
  }

  verifies('W3', 'retries what is safe to repeat, with growing delays that are recorded', async () => {
    const busy = { error: { code: 'RATE_LIMITED', isRetryable: true, mayHaveActed: false, retryAfterMs: 500 } };
    const end = await run(
      [aCallStep('busy', { retry: RETRY })],
      world({ busy: [busy, busy, { result: { done: true } }] }),
    );
    expect(end).toMatchObject({ status: 'succeeded', output: { done: true } });
    expect(end.durable.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(end.durable.time).toBe(1003);
  });

  verifies('W3', 'does not repeat a call that may have acted, even if its code is listed', async () => {
    const lost = { error: { code: 'OUTCOME_UNKNOWN', mayHaveActed: true } };
    const end = await run([aCallStep('pay', { retry: { ...RETRY, on: ['OUTCOME_UNKNOWN'] } })], world({ pay: lost }));
    expect(end).toMatchObject({ status: 'failed', tools: ['pay'] });
  });
});

describe('the interpreter', () => {
  verifies('W5', 'has no clock, timer, randomness or I/O of its own: replay would differ', () => {
    const root = join(import.meta.dirname, '..');
    const files = globSync(['steps/**/*.ts', 'expressions/**/*.ts', 'run/interpret.ts'], { cwd: root });
    const own = files.filter((file) => !/(\.test|fixtures)\.ts$/.test(file));
    expect(own.length).toBeGreaterThan(25);
    const impure =
      /Date\.now|new Date|Math\.random|performance\.|set(Timeout|Interval|Immediate)|from 'node:|process\./;
    expect(own.filter((file) => impure.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });
});
