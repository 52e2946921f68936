import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { EVERYTHING } from '../servers/everything.ts';
import { until } from '../until.ts';
import { BIN, project, ROOT, type RunningUp } from './heddle-command.ts';

/** The inspector looks for its own package.json from its working directory. */
const INSPECTOR = join(ROOT, 'node_modules/@modelcontextprotocol/inspector-cli/build');
const run = promisify(execFile);

type Answer = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

async function inspectAt(place: readonly string[], request: readonly string[], env = process.env) {
  const { stdout } = await run(process.execPath, ['cli.js', '--cli', ...place, ...request], { cwd: INSPECTOR, env });
  return JSON.parse(stdout) as Answer;
}

/** Returns the output of the inspector for one request to a running gateway. */
function inspect({ url, token }: RunningUp, transport: 'http' | 'sse', request: readonly string[]) {
  const place = transport === 'sse' ? url.replace('/mcp', '/sse') : url;
  return inspectAt([place, '--transport', transport], [...request, '--header', `Authorization: Bearer ${token}`]);
}

const everything = { mcpServers: { all: { command: process.execPath, args: [EVERYTHING] } } };

const SUM = ['--tool-name', 'mcp__all__get-sum', '--tool-arg', 'a=2', 'b=40'];
const SUMMED = { content: [{ type: 'text', text: 'The sum of 2 and 40 is 42.' }] };

describe('the inspector', () => {
  verifies('P1', 'lists tools, calls a tool, reads a resource and gets a prompt', async () => {
    const running = await project({ 'heddle.json': everything }).up();
    const ask = (...request: string[]) => inspect(running, 'http', ['--method', ...request]);
    // A list waits 2 s for a server that starts for the first time. On a busy machine it may take longer.
    await until('the sum tool is listed', async () => {
      const { tools = [] } = await ask('tools/list');
      return tools.some(({ name }) => name === 'mcp__all__get-sum');
    });
    expect(await ask('tools/call', ...SUM)).toEqual(SUMMED);
    const { resources = [] } = await ask('resources/list');
    const { uri } = resources[0] ?? {};
    expect((await ask('resources/read', '--uri', String(uri))).contents).toMatchObject([{ uri }]);
    const { resourceTemplates = [] } = await ask('resources/templates/list');
    expect(resourceTemplates.length).toBeGreaterThan(0);
    const { prompts = [] } = await ask('prompts/list');
    expect(prompts.map(({ name }) => name)).toContain('mcp__all__args-prompt');
    const prompt = ['--prompt-name', 'mcp__all__args-prompt', '--prompt-args', 'city=Bern'];
    const { messages } = await ask('prompts/get', ...prompt);
    expect(messages).toMatchObject([{ content: { text: "What's weather in Bern?" } }]);
    expect(await ask('logging/setLevel', '--log-level', 'debug')).toEqual({});
  });

  verifies('P1', 'calls over SSE, too', async () => {
    const running = await project({ 'heddle.json': everything }).up();
    expect(await inspect(running, 'sse', ['--method', 'tools/call', ...SUM])).toEqual(SUMMED);
  });

  verifies('P1', 'calls over stdio, when it starts Heddle itself', async () => {
    const { folder, env, heddle } = project({ 'heddle.json': everything });
    await heddle(['trust', '--yes']);
    // A file is used, because the inspector takes all options on its command line as its own.
    const script = join(folder, 'serve.sh');
    writeFileSync(script, `cd '${folder}' && exec '${process.execPath}' '${BIN}' serve --stdio`);
    expect(await inspectAt(['sh', script], ['--method', 'tools/call', ...SUM], env)).toEqual(SUMMED);
  });
});
