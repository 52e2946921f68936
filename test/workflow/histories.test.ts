import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Json, JsonObject, Result } from '../../src/core/call.ts';
import type { RunCode } from '../../src/core/code.ts';
import type { JournalEntry } from '../../src/store/run-journal.ts';
import type { Workflow } from '../../src/workflow/definition/canonical.ts';
import { compileWorkflow } from '../../src/workflow/definition/compile-workflow.ts';
import { completeWith, type RunBench, runBench } from '../../src/workflow/journal/fixtures.ts';
import { advance } from '../../src/workflow/run/advance.ts';
import { interpret } from '../../src/workflow/run/interpret.ts';
import { verifies } from '../requirements.ts';
import { KEPT_FLOWS, type KeptFlow } from './histories/flows.ts';

/** A run as an earlier version has recorded it. */
interface KeptHistory {
  readonly workflow: Workflow;
  readonly input: JsonObject;
  readonly entries: readonly JournalEntry[];
  readonly end: { readonly status: string; readonly output: Json; readonly error: Json };
}

const fileOf = ({ name }: KeptFlow) => join(import.meta.dirname, 'histories', `${name}.json`);
const runCode: RunCode = async (_, { call }) => [await call(0, 'crm.find_account', { name: 'Acme' })];
const openBench = (clock?: () => number) =>
  runBench(() => ({
    ...(clock && { clock }),
    execute: (workflow, input, { durable, run }) =>
      interpret(workflow, input, { durable, run: { id: run.id }, runCode }),
  }));

async function endOf(bench: RunBench, run: Parameters<RunBench['get']>[0]): Promise<KeptHistory['end']> {
  const { status, error } = await bench.get(run);
  const output = ((await bench.output(run)) ?? null) as Json;
  return { status, output, error: error ? ({ ...error } as JsonObject) : null };
}

/** Records the history of a flow. Only by hand, with HEDDLE_RECORD_HISTORIES=1, for a flow that has none. */
async function recordHistory(flow: KeptFlow): Promise<void> {
  const bench = await openBench();
  const source = flow.example
    ? {
        file: flow.example,
        text: readFileSync(join(import.meta.dirname, '../../examples/workflows', flow.example), 'utf8'),
      }
    : { value: flow.value ?? {} };
  const { workflow, problems } = compileWorkflow(source);
  if (!workflow) throw new Error(JSON.stringify(problems));
  const run = await bench.create(workflow, { input: flow.input });
  for (const [path, end] of Object.entries(flow.decisions ?? {})) bench.decisions.set(`ap_${run.id}_${path}`, end);
  for (const [tool, response] of Object.entries(flow.tools)) {
    bench.respond(tool, ({ signal }): Promise<Result> | Result => {
      if (response === 'never')
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      if (response !== 'fails') return completeWith(response as JsonObject);
      const value = { isError: true, content: [{ type: 'text', text: 'It failed.' }] };
      return { kind: 'complete', value, isError: true, provenance: { server: 'demo', attempts: 1, latencyMs: 1 } };
    });
  }
  while ((await bench.advance(run)).kind !== 'ended');
  const history = { workflow, input: flow.input, entries: await bench.entries(run), end: await endOf(bench, run) };
  writeFileSync(fileOf(flow), `${JSON.stringify(history, undefined, 1)}\n`);
}

describe.each(KEPT_FLOWS)('$name', (flow) => {
  verifies('W5', `replays the kept history of ${flow.name}: the same end, no call, no other entry`, async () => {
    if (process.env.HEDDLE_RECORD_HISTORIES === '1' && !existsSync(fileOf(flow))) await recordHistory(flow);
    const kept = JSON.parse(readFileSync(fileOf(flow), 'utf8')) as KeptHistory;
    // At the time of the history: later its `~wall` would be over.
    const bench = await openBench(() => kept.entries.at(-1)?.at ?? 0);
    const run = await bench.create(kept.workflow, { input: kept.input });
    const claimed = await bench.claim(run);
    const fence = { run: run.id, epoch: claimed.lease.epoch };
    const entries = kept.entries.slice(1).filter(({ kind }) => kind !== 'ended');
    await bench.store.runs.append({ fence, entries }, 'now');
    const advanced = await advance(claimed, bench.parts, new AbortController().signal);
    expect(advanced).toEqual({ kind: 'ended' });
    expect(await endOf(bench, run)).toEqual(kept.end);
    expect(bench.reached).toEqual([]);
    const added = (await bench.entries(run)).slice(entries.length + 1);
    // Later versions also log that a failed step is skipped.
    const others = added.filter(({ kind, detail }) => kind !== 'log' || detail.type !== 'skip');
    expect(others.map(({ kind, path }) => `${kind} ${path}`)).toEqual(['ended ']);
  });
});
