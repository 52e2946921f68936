import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { SDK_CLIENTS } from '../servers/sdk-clients.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const odd = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')] };
const call = (...input: readonly string[]) => ['call', 'odd.echo', 'message=hi', ...input];

verifies('G6', 'runs calls with a bare key, and asks for approval of a key with a qualifier', async () => {
  const { heddle } = project({ 'heddle.json': { mcpServers: { odd } } });
  for (const input of ['key=Enter', 'fileKey=abc', 'cache_key=1']) {
    expect([input, (await heddle(call(input))).code]).toEqual([input, 0]);
  }
  for (const input of ['apiKey=1', 'private_key=1', 'accessKey=1', 'signing-key=1', 'encryptionKey=1']) {
    expect([input, (await heddle(call(input))).code]).toEqual([input, 6]);
  }
});

verifies('G6', '`approvals.sensitiveWords` adds a word, and the message names its file and line', async () => {
  const written = { mcpServers: { odd }, approvals: { sensitiveWords: ['key'] } };
  const text = JSON.stringify(written, null, 1);
  const { heddle } = project({ 'heddle.json': text });
  const { code, stderr } = await heddle(call('key=Enter'));
  expect(code).toBe(6);
  expect(stderr).toContain('Its arguments look sensitive: key is named after “key”.');
  const line = text.split('\n').findIndex((one) => one.includes('sensitiveWords')) + 1;
  expect(stderr).toMatch(new RegExp(`The rule is in .*heddle\\.json:${line}\\.`));
  expect((await heddle(call('--yes', 'key=Enter'))).code).toBe(0);
});

verifies('G6', 'on a terminal asks a person about an added word', async () => {
  const shown = await terminal(
    project({ 'heddle.json': { mcpServers: { odd }, approvals: { sensitiveWords: ['key'] } } }),
    call('key=Enter'),
    { rows: 40, cols: 120 },
  );
  await shown.type('Run it? [y/', 'y');
  expect(await shown.ended()).toBe(0);
  expect(shown.screen()).toContain('key is named after “key”');
  expect(shown.screen()).toContain('Enter');
});

verifies('C14', 'a project adds words to those of the user, removes none, and needs no trust for it', async () => {
  const files = { 'heddle.json': { approvals: { sensitiveWords: ['iban'] } } };
  const { heddle, home } = project(files, { trusted: false });
  mkdirSync(home, { recursive: true });
  const own = { mcpServers: { odd }, approvals: { sensitiveWords: ['key'] } };
  writeFileSync(join(home, 'heddle.json'), JSON.stringify(own));
  for (const input of ['key=1', 'myIban=1', 'note=the IBAN']) {
    expect([input, (await heddle(call(input))).code]).toEqual([input, 6]);
  }
  const { code, stderr } = await heddle(call('note=nothing'));
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('untrusted')]);
});

for (const [word, message] of [
  ['', /`approvals\.sensitiveWords\[0\]` (is empty|must be one word)/],
  ['api_key', /`approvals\.sensitiveWords\[0\]` must be one word of letters and digits, such as `key`/],
  ['(a+)+', /must be one word of letters and digits/],
  [7, /`approvals\.sensitiveWords\[0\]` must be a string, not a number/],
] as const) {
  verifies(
    'C14',
    `refuses the sensitive word ${JSON.stringify(word)}, and asks for every call until then`,
    async () => {
      const { heddle } = project({ 'heddle.json': { mcpServers: { odd }, approvals: { sensitiveWords: [word] } } });
      const { code, stderr } = await heddle(call());
      expect(code).toBe(6);
      expect(stderr).toMatch(message);
      expect(stderr).toContain('Until it is corrected, every external tool needs an approval.');
    },
  );
}

verifies('C13', 'a running gateway takes new sensitive words without a restart', async () => {
  const { up, folder, heddle, home } = project({ 'heddle.json': { mcpServers: { odd } } });
  mkdirSync(home, { recursive: true });
  // A call that waits for an approval fails at once, instead of after 50 s.
  writeFileSync(join(home, 'heddle.json'), JSON.stringify({ approvals: { keepOpenMs: 0 } }));
  const { url, token } = await up();
  const [, connect] = SDK_CLIENTS[0] as (typeof SDK_CLIENTS)[number];
  const client = await connect({ url, token });
  const isRefused = async () => (await client.call('mcp__odd__echo', { message: 'hi', key: 'Enter' })).isError === true;
  expect(await isRefused()).toBe(false);
  const changed = { mcpServers: { odd }, approvals: { sensitiveWords: ['key'] } };
  writeFileSync(join(folder, 'heddle.json'), JSON.stringify(changed));
  await heddle(['trust', '--yes']);
  await until('the word counts', isRefused);
  await client.close();
});
