import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { configJsonSchema } from '../../src/config/schema/json-schema.ts';
import { configSchema, settingPaths } from '../../src/config/schema/schema.ts';
import { configPage } from '../../tools/config-page.ts';
import { verifies } from '../requirements.ts';
import { ROOT } from './temporary-tree.ts';

verifies('C1', 'docs/config.md equals the output of `npm run docs`', () => {
  expect(readFileSync(join(ROOT, 'docs', 'config.md'), 'utf8')).toBe(configPage());
});

verifies('C14', 'docs/config.md has a row for every setting', () => {
  const page = configPage();
  for (const path of settingPaths) expect(page).toContain(`| \`${path.join('.')}\` |`);
});

verifies('C1', 'every key of the schema has a description', () => {
  const silent = configPage()
    .split('\n')
    .filter((line) => line.startsWith('| `') && line.endsWith('|  |'));
  expect(silent).toEqual([]);
});

const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(configJsonSchema());

it.each([
  {},
  { $schema: './x.json', mcpServers: {} },
  { mcpServers: { a: { command: 'x' }, b: { url: '${BASE}/mcp' }, c: { type: 'ws', url: 'wss://h/' } } },
  { mcpServers: { a: { command: 'x', tools: { t: { riskLevel: 'low' } } } }, mode: 'open', gateway: { port: 0 } },
])('the JSON Schema accepts a valid configuration: %j', (value) => {
  expect(accepts(value)).toBe(true);
});

it.each([
  { mcpServer: {} },
  { mode: 'loose' },
  { gateway: { port: 70_000 } },
  { mcpServers: { a: { command: 'x', agrs: [] } } },
  { mcpServers: { a: { description: 'nothing to start' } } },
])('the JSON Schema refuses an invalid configuration: %j', (value) => {
  expect(accepts(value)).toBe(false);
  expect(configSchema.safeParse(value).success).toBe(false);
});
