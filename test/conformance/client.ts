// The client under test of the conformance suite, which is Heddle's library. The suite starts it once per scenario, all
// at once. The last argument is the URL of the suite's server; MCP_CONFORMANCE_… variables have the scenario.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HeddleClient, JsonObject } from '../../src/index.ts';
import { AUTH_SCENARIOS } from './auth-scenarios.ts';
import { call, context, type Scenario, SERVER, storeIn } from './scenario.ts';

const list = (heddle: HeddleClient) => heddle.tools();

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  initialize: { play: list },
  tools_call: { play: (heddle) => call(heddle, 'add_numbers', { a: 5, b: 3 }) },
  'elicitation-sep1034-client-defaults': {
    host: { onElicitation: () => ({ action: 'accept' }) },
    play: (heddle) => call(heddle, 'test_client_elicitation_defaults'),
  },
  'sse-retry': { play: (heddle) => call(heddle, 'test_reconnection') },
  'request-metadata': {
    host: { onElicitation: () => ({ action: 'decline' }), onSampling: () => ({}), onRoots: () => [] },
    play: list,
  },
  'sep-2322-client-request-state': {
    host: { onElicitation: () => ({ action: 'accept', content: { confirmed: true } }) },
    async play(heddle) {
      for (const tool of ['test_mrtr_echo_state', 'test_mrtr_no_state', 'test_mrtr_unrelated'])
        await call(heddle, tool);
      // The suite accepts both a refusal and a result here.
      await call(heddle, 'test_mrtr_no_result_type').catch((thrown) => process.stderr.write(`refused: ${thrown}\n`));
    },
  },
  'http-standard-headers': { play: callAll },
  'http-custom-headers': {
    async play(heddle) {
      for (const { name, arguments: input } of context().toolCalls) await call(heddle, name, input);
    },
  },
  'http-invalid-tool-headers': { play: callAll },
  'json-schema-ref-no-deref': { play: list },
  'json-schema-2020-12-preservation': {
    async play(heddle) {
      const tools = await heddle.tools();
      const tool = tools.find(({ definition }) => definition.name === 'json_schema_2020_12_tool');
      await call(heddle, 'json_schema_echo', { schema: tool?.definition.inputSchema ?? null });
    },
  },
};

/** Calls every tool of the suite's server, with example arguments that match its schema. */
async function callAll(heddle: HeddleClient): Promise<void> {
  const { exampleOf } = await import('../../src/schema/example.ts');
  for (const { name, servers, definition } of await heddle.tools()) {
    if (servers.includes(SERVER))
      await heddle.call(name, exampleOf(definition.inputSchema as JsonObject) as JsonObject);
  }
}

async function play(scenario: Scenario, url: string): Promise<void> {
  const { host = {}, entry, config, prepare, connects = true } = scenario;
  const cwd = mkdtempSync(join(tmpdir(), 'heddle-conformance-'));
  try {
    await prepare?.(cwd);
    const { openHeddle } = await import('../../src/index.ts');
    const env = { PATH: process.env.PATH, HEDDLE_HOME: join(cwd, 'home') };
    const servers = { [SERVER]: { type: 'http', url, ...entry?.(cwd) } };
    const settings = config && { config: config() };
    await using heddle = await openHeddle({ cwd, env, servers, store: storeIn(cwd), ...settings, ...host });
    const status = connects ? await heddle.servers.connect(SERVER) : undefined;
    if (status && status.state !== 'connected') throw new Error(JSON.stringify(status));
    await scenario.play(heddle);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

const name = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const scenarios: Readonly<Record<string, Scenario>> = name.startsWith('auth/') ? AUTH_SCENARIOS : SCENARIOS;
const key = name.replace('auth/', '');
const scenario = Object.hasOwn(scenarios, key) ? scenarios[key] : undefined;
if (scenario) {
  await play(scenario, process.argv.at(-1) ?? '');
  process.stdout.write('played to the end\n');
}
