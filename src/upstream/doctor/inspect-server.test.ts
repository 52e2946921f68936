import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { temporaryHeddle } from '../../../test/temporary-heddle.ts';
import type { Caller } from '../../core/call.ts';
import type { Finding } from '../../core/records/finding.ts';

const signal = new AbortController().signal;
const owner: Caller = { id: 'someone', roles: ['owner'], via: 'library' };
const script = (name: string) => join(import.meta.dirname, '../../../test/servers', name);
const odd = { command: process.execPath, args: [script('odd-tools.mjs')] };

/** Returns the findings of the doctor about one server, or about all, by subject. */
async function examine(entry: object | undefined, variables = {}): Promise<ReadonlyMap<string, Finding>> {
  const env = { PATH: process.env.PATH, ...variables };
  const heddle = await temporaryHeddle({ env, servers: entry ? { demo: entry as never } : {} });
  const findings = await heddle.doctor(owner, entry && 'demo', signal);
  return new Map(findings.map((finding) => [finding.subject, finding]));
}

/** Starts an HTTP server that answers every request with this status. */
async function answering(status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

verifies('T4', 'reports all findings about a working local server', async () => {
  const found = await examine(odd);
  expect([...found.values()].map(({ level }) => level)).not.toContain('error');
  expect(found.get('server demo')).toMatchObject({
    message: expect.stringMatching(/^connected in \d+ ms over \S+, protocol 2025-11-25 \(legacy\)$/),
    facts: { state: 'connected', era: 'legacy', protocolVersion: '2025-11-25', connectMs: expect.any(Number) },
  });
  expect(found.get('command')?.facts).toMatchObject({ file: process.execPath });
  expect(found.get('program')?.message).toBe('it calls itself odd 1');
  expect(found.get('capabilities')?.message).toBe('tools');
  expect(found.get('lists')?.message).toBe('7 tools, 0 resources, 0 resource templates, 0 prompts');
  expect(found.get('last said on stderr')?.facts).toEqual({ lines: ['odd tools are ready'] });
  expect(found.get('processes')?.facts).toHaveProperty('enclosure');
});

verifies('T4', 'reports the counts of unexpected messages', async () => {
  const odds = 'console.log(`[1]`);console.log(`{"jsonrpc":"2.0","id":77,"result":{}}`);';
  const found = await examine({ command: process.execPath, args: ['-e', `${odds}import('${odd.args[0]}')`] });
  expect(found.get('messages')).toMatchObject({
    level: 'warn',
    message: '2 of no use: 1 malformed, 1 answering nothing that was asked, 0 too late',
    facts: { malformed: 1, unknown: 1, stale: 0 },
  });
});

for (const [what, entry, message] of [
  ['is in no folder', { command: 'no-such-program' }, /^no-such-program is in none of these folders: \//],
  ['is not where it is said to be', { command: '/no/program' }, /^there is no \/no\/program$/],
  ['may not be run', { command: '/etc/passwd' }, /^\/etc\/passwd is not executable$/],
] as const) {
  verifies('T2', `says that a command ${what}`, async () => {
    const found = await examine(entry);
    expect(found.get('server demo')).toMatchObject({ level: 'error', fix: expect.any(String) });
    expect(found.get('command')).toMatchObject({
      level: 'error',
      message: expect.stringMatching(message),
      fix: expect.stringContaining('full path'),
    });
  });
}

verifies('T2', 'says that nothing listens at an address', async () => {
  const found = await examine({ url: 'http://127.0.0.1:9/mcp', headers: { 'X-Api-Key': 'a secret' } });
  expect(found.get('address')).toMatchObject({ level: 'error', message: expect.stringContaining('nothing listens') });
  expect(found.get('sign-in')?.message).toBe('the header X-Api-Key is sent');
  expect(JSON.stringify([...found])).not.toContain('a secret');
});

verifies('T2', 'tells a server that wants a sign-in from one that is not there', async () => {
  const found = await examine({ url: await answering(401) });
  expect(found.get('address')).toMatchObject({ level: 'ok', message: expect.stringMatching(/answers \(\d+ ms\)$/) });
  expect(found.get('sign-in')).toMatchObject({ level: 'error', message: expect.stringContaining('no credential') });
});

verifies('T4', 'says for which server a pid namespace cannot be had, and why', async () => {
  const found = await examine({ ...odd, env: { 'a:b': 'x' } }, { HEDDLE_PID_NAMESPACE: '' });
  expect(found.get('server demo')?.level).toBe('ok');
  expect(found.get('processes')?.facts).toMatchObject({ enclosure: 'group' });
  const off = await examine(odd, { HEDDLE_PID_NAMESPACE: 'off' });
  expect(off.get('processes')).toMatchObject({ message: expect.stringContaining('HEDDLE_PID_NAMESPACE=off is set') });
});

verifies('T4', 'says in general what holds processes here', async () => {
  expect((await examine(undefined)).get('processes')?.facts).toHaveProperty('enclosure');
});

it('does not start what is disabled, and says no more than that', async () => {
  const found = await examine({ ...odd, enabled: false });
  expect(found.get('server demo')).toMatchObject({ level: 'ok', message: 'disabled' });
  expect(found.has('lists')).toBe(false);
});
