import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { HeddleClient } from '../../src/index.ts';
import { verifies } from '../requirements.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';

const PACKAGES = join(import.meta.dirname, '../../node_modules');

/** Opens a published server by its file, like `npx` does. */
async function opened(name: string, file: string, more: { args?: readonly string[]; env?: Record<string, string> }) {
  const { args = [], env = {} } = more;
  const entry = { command: process.execPath, args: [join(PACKAGES, file), ...args], env, trusted: true };
  return temporaryHeddleClient({ env: process.env, servers: { [name]: entry } });
}

async function toolsOf(heddle: HeddleClient, server: string): Promise<readonly string[]> {
  const { state } = await heddle.servers.connect(server);
  expect(state).toBe('connected');
  const tools = await heddle.tools();
  return tools.filter(({ servers }) => servers.includes(server)).map(({ definition }) => String(definition.name));
}

verifies('T1', 'reads files through the reference filesystem server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'a.txt'), 'warp and weft');
  const heddle = await opened('files', '@modelcontextprotocol/server-filesystem/dist/index.js', { args: [folder] });

  expect(await toolsOf(heddle, 'files')).toEqual(expect.arrayContaining(['read_text_file', 'list_directory']));
  const { value } = await heddle.call('files.read_text_file', { path: join(folder, 'a.txt') });
  expect(value.content).toEqual([{ type: 'text', text: 'warp and weft' }]);
});

verifies('T1', 'stores a graph through the reference memory server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-memory-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'memory.jsonl');
  const heddle = await opened('memory', '@modelcontextprotocol/server-memory/dist/index.js', {
    env: { MEMORY_FILE_PATH: file },
  });

  const entities = [{ name: 'loom', entityType: 'machine', observations: ['has heddles'] }];
  await heddle.call('memory.create_entities', { entities });
  const { value } = await heddle.call('memory.search_nodes', { query: 'loom' });
  expect(JSON.stringify(value)).toContain('has heddles');
  expect(readFileSync(file, 'utf8')).toContain('has heddles');
});

verifies('T1', 'connects to chrome-devtools-mcp and lists its tools without starting a browser', async () => {
  const heddle = await opened('devtools', 'chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js', {
    args: ['--no-usage-statistics', '--no-performance-crux'],
    env: { CI: '1' },
  });
  expect(await toolsOf(heddle, 'devtools')).toEqual(expect.arrayContaining(['navigate_page', 'take_snapshot']));
});
