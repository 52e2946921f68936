import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { project } from './heddle-command.ts';
import { terminal } from './terminal.ts';

verifies('L3', 'a question that is wrapped is indented, and without the mark of quoted text', async () => {
  const one = project({ 'heddle.json': {} });
  const file = join(one.env.HOME ?? '', '.cursor', 'mcp.json');
  mkdirSync(join(file, '..'));
  writeFileSync(file, JSON.stringify({ mcpServers: { demo: { command: 'demo-server' } } }));
  const narrow = await terminal(one, ['connect', 'cursor'], { rows: 40, cols: 60 });
  await narrow.type('[Y/n]', 'n');
  await narrow.type('[Y/n]', 'n');
  await narrow.ended();
  expect(narrow.screen()).toMatch(/Cursor has servers that Heddle has not: demo\.[^|]*\n {4}\S/);
  expect(narrow.screen()).not.toContain('  | ');
});

verifies('L3', 'the list of hosts names each file also in a terminal of 60 columns', async () => {
  const one = project({ 'heddle.json': {} });
  const file = join(one.env.HOME ?? '', '.cursor', 'mcp.json');
  mkdirSync(join(file, '..'));
  writeFileSync(file, '{ "mcpServers": {} }');
  const narrow = await terminal(one, ['connect'], { rows: 40, cols: 60 });
  expect(await narrow.ended()).toBe(0);
  expect(narrow.screen()).toContain('cursor');
  expect(narrow.screen().replace(/\n {4}/g, '')).toContain(`cursor: ${file}`);
  expect(
    narrow
      .screen()
      .split('\n')
      .filter((line) => line.length > 60),
  ).toEqual([]);
  const wide = await terminal(one, ['connect'], { rows: 40, cols: 200 });
  expect(await wide.ended()).toBe(0);
  expect(wide.screen()).toMatch(new RegExp(`^cursor .* ${file}$`, 'm'));
});
