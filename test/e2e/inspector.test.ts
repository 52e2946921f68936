import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { EVERYTHING } from '../servers/everything.ts';
import { BIN, type Project, project, ROOT } from './heddle-command.ts';

const run = promisify(execFile);

/** The inspector looks for its own package from the folder it is started in. */
const INSPECTOR = join(ROOT, 'node_modules/@modelcontextprotocol/inspector-cli/build');

async function inspect(target: readonly string[], method: readonly string[], env: Project['env']) {
  const args = [join(INSPECTOR, 'index.js'), ...target, '--method', ...method];
  const { stdout } = await run(process.execPath, args, { cwd: INSPECTOR, env });
  return JSON.parse(stdout);
}

const ECHO = ['tools/call', '--tool-name', 'mcp__everything__echo', '--tool-arg', 'message=hi'];

/** Both kinds of ways in: by its address, and as a command that the inspector starts. */
const FACES: Record<string, (made: Project) => Promise<readonly string[]>> = {
  'Streamable HTTP': async (made) => {
    const { url, token } = await made.up();
    return [url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`];
  },
  'HTTP with SSE': async (made) => {
    const { url, token } = await made.up();
    return [new URL('/sse', url).href, '--transport', 'sse', '--header', `Authorization: Bearer ${token}`];
  },
  stdio: async ({ folder, heddle }) => {
    await heddle(['trust', '--yes']);
    // In a file of its own: the inspector takes every option on its command line for one of its own.
    const script = join(folder, 'serve.sh');
    writeFileSync(script, `cd '${folder}' && exec '${process.execPath}' '${BIN}' serve --stdio`);
    return ['sh', script];
  },
};

describe.each(Object.entries(FACES))('the inspector, over %s', (_name, target) => {
  verifies(
    'P1',
    'lists and calls what the reference server has',
    async () => {
      const made = project({
        'heddle.json': { mcpServers: { everything: { command: process.execPath, args: [EVERYTHING] } } },
      });
      const place = await target(made);
      const ask = (...method: string[]) => inspect(place, method, made.env);

      const { tools } = await ask('tools/list');
      expect(tools.map(({ name }: { name: string }) => name)).toContain('mcp__everything__get-sum');
      expect(await ask(...ECHO)).toEqual({ content: [{ type: 'text', text: 'Echo: hi' }] });
      const { prompts } = await ask('prompts/list');
      expect(prompts.map(({ name }: { name: string }) => name)).toContain('mcp__everything__simple-prompt');
      const [{ uri }] = (await ask('resources/list')).resources;
      const { contents } = await ask('resources/read', '--uri', uri);
      expect(contents[0]).toMatchObject({ uri, text: expect.stringContaining('#') });
    },
    60_000,
  );
});
