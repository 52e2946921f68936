import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { HookEvent } from '../../src/index.ts';
import { verifies } from '../requirements.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';
import { project, SERVERS } from './heddle-command.ts';

const RISKY = { command: process.execPath, args: [join(SERVERS, 'risky-tools.mjs')] };
const LONGEST_MS = 60_000;
const shell = (script: string, ...args: string[]) => ({
  command: ['/bin/sh', '-c', script, ...args],
  timeoutMs: LONGEST_MS,
});
const printing = (verdict: object) => shell('cat >/dev/null; printf %s "$0"', JSON.stringify(verdict));
const config = (more: object) => ({ 'heddle.json': JSON.stringify({ mcpServers: { browser: RISKY }, ...more }) });
const DENIED = { beforeCall: [{ tools: ['mcp__browser'], ...printing({ effect: 'deny', reason: 'Not today' }) }] };

verifies('G13', 'a hook of the configuration denies calls of the command line, also through a gateway', async () => {
  const { heddle, up } = project(config({ hooks: DENIED }));
  const denied = {
    code: 5,
    stderr: expect.stringContaining('A hook denied the call of mcp__browser__look. Not today.'),
  };
  expect(await heddle(['call', 'browser.look'])).toMatchObject(denied);
  await up();
  expect(await heddle(['call', 'browser.look'])).toMatchObject(denied);
});

verifies('G13', 'a hook asks for an approval, and onApproval observes it', async () => {
  const { heddle, home } = project(
    config({
      hooks: {
        beforeCall: [printing({ effect: 'ask', reason: 'A second look is wanted.' })],
        onApproval: [shell('cat >>observed.jsonl; echo >>observed.jsonl')],
      },
    }),
  );
  const asked = await heddle(['call', 'browser.look']);
  expect(asked.code).toBe(6);
  expect(asked.stderr).toContain('A second look is wanted.');
  // Commands run in Heddle's home folder, not in the project.
  const observed = readFileSync(join(home, 'observed.jsonl'), 'utf8').trim().split('\n');
  expect(observed.map((line) => JSON.parse(line))).toMatchObject([
    {
      event: 'onApproval',
      approval: {
        status: 'pending',
        rule: 'hooks.beforeCall',
        subject: { name: 'mcp__browser__look', isSanitised: true },
      },
    },
  ]);
});

verifies('G13', 'hooks of an untrusted project do not run, and its commands are named', async () => {
  const { heddle } = project(config({ hooks: DENIED }), { trusted: false });
  const { stderr } = await heddle(['list', 'servers']);
  expect(stderr).toContain('run /bin/sh -c');
});

verifies('G13', 'functions of a program see calls, results and approvals', async () => {
  const seen: HookEvent[] = [];
  const keep = (event: HookEvent) => void seen.push(event);
  const heddle = await temporaryHeddleClient({
    servers: { browser: RISKY },
    hooks: {
      beforeCall: (event) => keep(event) as undefined,
      afterCall: (event) => keep(event) as undefined,
      onApproval: keep,
    },
  });
  await heddle.call('browser.look', { at: 'x' });
  expect(seen).toMatchObject([
    { event: 'beforeCall', call: { name: 'mcp__browser__look', caller: { via: 'library' }, arguments: { at: 'x' } } },
    { event: 'afterCall', server: 'browser', isError: false, result: { content: [{ text: 'look was called' }] } },
  ]);
  await expect(heddle.call('browser.click')).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
  await heddle.close();
  expect(seen.at(-1)).toMatchObject({
    event: 'onApproval',
    approval: { status: 'pending', subject: { name: 'mcp__browser__click' } },
  });
  expect(JSON.stringify(seen.at(-1))).not.toContain('"binding"');
});
