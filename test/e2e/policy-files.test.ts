import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { HeddleError } from '../../src/core/errors.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder, temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const SERVER = join(import.meta.dirname, '../servers/counting-server.mjs');

/** Opens a Heddle that watches its files, with a counting server and a folder for the user's policies. */
async function watched(server: JsonObject = {}, policy?: string) {
  const folder = await temporaryFolder();
  const counts = join(folder, 'counts');
  const policies = join(folder, 'home', 'policies');
  const file = join(policies, 'rules.yaml');
  if (policy !== undefined) {
    await mkdir(policies, { recursive: true });
    await writeFile(file, policy);
  }
  const demo = { command: process.execPath, args: [SERVER], env: { COUNTS: counts }, ...server };
  const config = { mcpServers: { demo } };
  const heddle = await temporaryHeddleClient({ folder, config, watch: true, onProblems: () => {} });
  const codeOf = (tool: string, input: JsonObject = {}) =>
    heddle.call(`demo.${tool}`, input).then(
      () => 'ok',
      (thrown) => HeddleError.from(thrown).code,
    );
  const listed = async () => (await heddle.tools()).map(({ name }) => name);
  const counted = async () => (await readFile(counts, 'utf8').catch(() => '')).split('\n').length - 1;
  return { policies, file, codeOf, listed, counted };
}

const RULES = `policies:
  - name: no production
    effect: deny
    tools: [mcp__demo__allowed]
    when: args.?database.orValue("") == "production"
    reason: Production is read by hand.
  - name: hidden
    effect: deny
    tools: [mcp__demo__denied]
    reason: It is not in use.
`;

verifies('G3', 'puts a new policy file, its changes and its removal in force while Heddle runs', async () => {
  const { policies, file, codeOf, listed, counted } = await watched();
  const production = () => codeOf('allowed', { database: 'production' });
  expect(await production()).toBe('ok');
  expect(await listed()).toContain('mcp__demo__denied');

  await mkdir(policies, { recursive: true });
  await writeFile(file, RULES);
  await until('the rule is in force', async () => (await production()) === 'PERMISSION_DENIED');
  const before = await counted();
  expect(await production()).toBe('PERMISSION_DENIED');
  expect(await counted()).toBe(before);
  expect(await codeOf('allowed', { database: 'test' })).toBe('ok');
  expect(await listed()).not.toContain('mcp__demo__denied');
  expect(await listed()).toContain('mcp__demo__allowed');

  await writeFile(file, RULES.replace('args.?', 'arg.?'));
  await until('mode strict is in force', async () => (await codeOf('asked')) === 'APPROVAL_PENDING');
  expect(await production()).toBe('PERMISSION_DENIED');
  expect(await listed()).not.toContain('mcp__demo__denied');

  await rm(file);
  await until('the removal is in force', async () => (await production()) === 'ok');
  expect(await codeOf('asked')).toBe('ok');
});

verifies('G3', 'an allow of another file runs nothing that an invalid policy may deny', async () => {
  const allowed = { permissions: { allowedTools: ['allowed'] } };
  const valid = await watched(allowed, RULES);
  expect(await valid.codeOf('allowed', { database: 'production' })).toBe('PERMISSION_DENIED');
  const broken = await watched(allowed, RULES.replace('args.?', 'arg.?'));
  expect(await broken.codeOf('allowed', { database: 'production' })).toBe('APPROVAL_PENDING');
  expect(await broken.counted()).toBe(0);
});

verifies('G3', 'a rule on labels keeps private data from tools that reach the web', async () => {
  const rule = `policies:
  - name: no leak
    effect: deny
    when: '"private" in taint && tool.ownName == "allowed"'
    reason: The session has private data.
`;
  const { codeOf } = await watched({ tools: { asked: { taints: ['private'] } } }, rule);
  expect(await codeOf('allowed')).toBe('ok');
  expect(await codeOf('asked')).toBe('ok');
  expect(await codeOf('allowed')).toBe('PERMISSION_DENIED');
});
