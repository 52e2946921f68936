import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { RunOrigin } from '../../core/records/run.ts';
import { aCallStep, aWorkflow } from '../fixtures.ts';
import { runBench } from '../journal/fixtures.ts';
import { isOfOrigin, requireOrigin } from './run-origin.ts';

const SHOP = { folder: '/my shop' };
const FILE = { folder: '/my shop', file: '/etc/ci.json' };
const PROGRAM = { folder: '/my shop', program: true } as const;

/** Returns the message and the fix of the error for a run of another origin. */
function refusal(origin: RunOrigin, own: RunOrigin) {
  try {
    requireOrigin({ id: 'run_1', origin }, own);
  } catch (thrown) {
    const { code, message, fix } = thrown as { code: string; message: string; fix: string };
    return { code, message, fix };
  }
  throw new Error('It was not refused.');
}

verifies('W5', 'refuses a run of another origin, with the folder and the options to use', () => {
  const code = 'USAGE_INVALID';
  expect(refusal(SHOP, { folder: '/clone' })).toEqual({
    code,
    message: 'The run run_1 belongs to the project /my shop, and is executed there only.',
    fix: "Run `cd '/my shop'`, then the same command.",
  });
  expect(refusal(SHOP, FILE)).toMatchObject({ code, fix: 'Run the same command without `--config`.' });
  expect(refusal(FILE, SHOP)).toEqual({
    code,
    message: 'The run run_1 belongs to --config /etc/ci.json in /my shop, and is executed there only.',
    fix: 'Run the same command with `--config /etc/ci.json`.',
  });
  expect(refusal(FILE, { folder: '/clone', file: '/etc/ci.json' }).fix).toBe(
    "Run `cd '/my shop'`, then the same command with `--config /etc/ci.json --local`.",
  );
});

verifies('W5', 'keeps the runs of programs and of commands apart: a program has rules of its own', () => {
  expect(refusal(PROGRAM, SHOP)).toMatchObject({
    message: 'The run run_1 belongs to a program in the project /my shop, and is executed there only.',
    fix: 'Use `heddle.runs` in that program.',
  });
  expect(refusal(SHOP, PROGRAM).fix).toBe("Run `cd '/my shop'`, then `heddle runs resume run_1`.");
});

it('accepts runs of the same origin, runs without one, and all runs where origins select nothing', () => {
  for (const [origin, own] of [
    [FILE, { file: '/etc/ci.json', folder: '/my shop' }],
    [undefined, SHOP],
    [SHOP, undefined],
  ] as const) {
    const run = { id: 'run_1', ...(origin && { origin }) };
    expect(isOfOrigin(run, own)).toBe(true);
    requireOrigin(run, own);
  }
});

verifies('W5', 'gives a run below another one the origin of that one', async () => {
  const bench = await runBench();
  const above = await bench.create(aWorkflow([aCallStep('write')]), { origin: { folder: '/shop' } });
  const parent = { run: above.id, path: 'sub' };
  const below = await bench.create(aWorkflow([aCallStep('write')]), { parent, origin: { folder: '/clone' } });
  expect(below.origin).toEqual({ folder: '/shop' });
});
