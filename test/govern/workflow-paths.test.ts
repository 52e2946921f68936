import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { openStore } from '../../src/store/open-store.ts';
import { SERVERS } from '../e2e/heddle-command.ts';
import { CASES } from '../paths.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder, temporaryHeddleClient } from '../temporary-heddle.ts';

const NO_INPUT = { input: {} };

/** The ways in which a workflow calls a tool. */
const STEPS: Readonly<Record<string, (tool: string) => JsonObject>> = {
  tool: (tool) => ({ id: 'call', tool, ...NO_INPUT }),
  branch: (tool) => ({ id: 'both', parallel: { one: { tool, ...NO_INPUT }, two: { wait: { for: '1ms' } } } }),
  item: (tool) => ({ id: 'each', fanout: { items: '${{ [1] }}', do: [{ id: 'call', tool, ...NO_INPUT }] } }),
  code: (tool) => ({
    id: 'code',
    code: { ts: `return await tools.${tool}({});`, tools: [tool], limits: { wall: '20s', memory: '64MiB', calls: 1 } },
  }),
  fallback: (tool) => ({
    ...{ id: 'never', tool: 'counter.missing', ...NO_INPUT },
    ...{ onError: 'fallback', fallback: { id: 'call', tool, ...NO_INPUT } },
  }),
};

const RULES: JsonObject = {
  mode: 'open',
  permissions: { ask: ['mcp__counter__asked'], deny: ['mcp__counter__denied'] },
  policies: [
    {
      name: 'no',
      effect: 'deny',
      tools: ['mcp__counter__barred'],
      when: '!has(args.reviewed)',
      reason: 'Not reviewed.',
    },
  ],
};

const countOf = (all: readonly string[]) =>
  Object.fromEntries([...Map.groupBy(all, (one) => one)].map(([one, same]) => [one, same.length]));

verifies('G1', `workflows send only allowed calls, by ${Object.keys(STEPS).join(', ')}`, async () => {
  const folder = await temporaryFolder();
  const counts = join(folder, 'counts');
  const counter = { command: process.execPath, args: [join(SERVERS, 'counting-server.mjs')], env: { COUNTS: counts } };
  const heddle = await temporaryHeddleClient({ folder, config: { ...RULES, mcpServers: { counter } } });
  for (const [path, stepOf] of Object.entries(STEPS)) {
    for (const [at, one] of CASES.entries()) {
      const abort = new AbortController();
      const value = { heddle: 1, name: `flow-${path}-${at}`, steps: [stepOf(`counter.${one}`)] };
      // A run that waits for an approver is cancelled.
      const onEvent = ({ kind }: { readonly kind: string }) => kind === 'waiting' && abort.abort();
      const { status } = await heddle.run(value, {}, { signal: abort.signal, onEvent });
      const ended = one === 'asked' ? 'cancelled' : one === 'allowed' ? 'succeeded' : 'failed';
      expect.soft(status, `${path} ${one}`).toBe(ended);
    }
  }
  await heddle.close();
  const store = await openStore({ location: join(folder, 'home', 'heddle.sqlite') });
  const records = (await store.audit.search({ limit: 10_000 })).filter(({ name }) => name.includes('counter'));
  await store.close();
  expect(new Set(records.map(({ via }) => via))).toEqual(new Set(['workflow']));
  const opened = records.filter(({ phase }) => phase === 'intent');
  const decided = opened.map(({ name, detail }) => `${detail.decision} ${name.replace(/^.*[._]/, '')}`);
  const each = Object.keys(STEPS).length;
  expect(countOf(decided)).toEqual({
    'allow allowed': each,
    'allow failing': each,
    'ask asked': each,
    'deny barred': each,
  });
  const sent = (await readFile(counts, 'utf8')).split('\n').filter((line) => line.startsWith('tool'));
  expect(sent).toHaveLength(2 * each);
});
