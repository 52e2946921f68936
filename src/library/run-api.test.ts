import { realpathSync } from 'node:fs';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { temporaryFolder, temporaryHeddle, temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import type { Json, JsonObject } from '../core/call.ts';
import type { RunEvent } from '../core/records/run.ts';
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

const flow = (name: string, steps: JsonObject[]) => ({ heddle: 1, name, steps });
const below = (workflow: string) => ({ id: 'sub', workflow, input: {} });

verifies('G6', 'onApprovalRequest decides on the approvals of runs below the run, at any depth', async () => {
  const notes = recordingServer({ write: () => text('written') });
  const config = { mode: 'open', permissions: { ask: ['mcp__notes__write'] } };
  const opened = await temporaryHeddle({ config, store: ':memory:', servers: { notes } });
  const seen: string[] = [];
  const heddle = runApi(opened, {
    onApprovalRequest({ subject }) {
      seen.push(subject.name);
      return { approve: true };
    },
  });
  const steps = [
    { id: 'ok', approval: { title: 'Write it?' } },
    { id: 'write', tool: 'notes.write', input: {} },
  ];
  await heddle.workflows.register(flow('innermost', steps));
  await heddle.workflows.register(flow('inner', [below('innermost')]));
  const paths: string[] = [];
  const onEvent = ({ path }: RunEvent) => void paths.push(path);
  expect(await heddle.run(flow('outer', [below('inner')]), {}, { onEvent })).toMatchObject({ success: true });
  expect(seen).toEqual(['mcp__workflow__innermost', 'mcp__notes__write']);
  expect(paths).toContain('sub');
  expect(paths).not.toContain('ok'); // The events are those of the run alone.
});

verifies('W5', 'a program with servers or hooks goes on with the runs of such programs only', async () => {
  const folder = await temporaryFolder();
  const own = realpathSync(folder);
  const servers = { notes: recordingServer({ write: () => text('written') }) };
  const plain = await temporaryHeddleClient({ folder, config: { mode: 'open' } });
  const hooked = await temporaryHeddleClient({ folder, hooks: { beforeCall: () => undefined }, trustProject: true });
  const begin = async (heddle: typeof plain) => (await heddle.run(LATE, {}, { detach: true })).runId;
  const [ofPlain, ofHooked] = [await begin(plain), await begin(hooked)];
  expect((await hooked.runs.get(ofPlain)).origin).toEqual({ folder: own });
  expect((await plain.runs.get(ofHooked)).origin).toEqual({ folder: own, program: true });
  await expect(hooked.runs.resume(ofPlain)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  await expect(plain.runs.resume(ofHooked)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  const worker = await temporaryHeddleClient({ folder, servers, trustProject: true, runs: true });
  expect(await worker.runs.wait(ofHooked)).toMatchObject({ success: true });
  expect((await worker.runs.get(ofPlain)).status).toBe('running');
});
