import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { BIN, project } from './heddle-command.ts';

const FILES = { 'docs/a.txt': 'one', 'secret.txt': 'secret' };
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text;

describe('heddle builtin filesystem', () => {
  for (const mode of ['legacy', 'auto'] as const) {
    verifies('L1', `serves the file tools over stdio, negotiating as ${mode}`, async () => {
      const { folder, env } = project(FILES);
      const args = [BIN, 'builtin', 'filesystem', 'docs', ...(mode === 'auto' ? ['--read-only'] : [])];
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: folder, env }));
      expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names.includes('fs_write_file')).toBe(mode === 'legacy');
      const call = (name: string, input: Record<string, unknown>) => client.callTool({ name, arguments: input });
      expect(textOf(await call('fs_read_file', { path: 'a.txt' }))).toBe('one');
      expect(textOf(await call('fs_read_file', { path: '../secret.txt' }))).toMatch(/outside the allowed roots/);
      if (mode === 'legacy') {
        const { structuredContent } = await call('fs_write_file', { path: 'new/b.txt', content: 'two' });
        expect(structuredContent).toEqual({ path: join(folder, 'docs/new/b.txt'), bytes: 3, created: true });
      }
      await client.close();
    });
  }

  it('answers the requests in flight when its input ends', async () => {
    const { heddle } = project(FILES);
    const request = (id: number) =>
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'fs_search_files', arguments: { pattern: '**' } },
      });
    const { code, stdout } = await heddle(['builtin', 'filesystem', '.'], { stdin: `${request(1)}\n${request(2)}\n` });
    expect([code, stdout.trimEnd().split('\n').length]).toEqual([0, 2]);
    expect(stdout).toContain('docs/a.txt');
  });

  it('exits with 3 for a bad root, and with 2 for bad usage, and writes nothing to stdout', async () => {
    const { heddle } = project(FILES);
    const outcomes = [
      [['filesystem', 'docs', 'missing'], 3, /The root \S+missing does not exist/],
      [['filesystem', 'secret.txt'], 3, /is not a directory/],
      [['filesystem', '/proc'], 3, /kernel interfaces/],
      [['filesystem'], 2, /needs a directory/],
      [['files', '.'], 2, /no built-in server files/],
      [[], 2, /is missing/],
    ] as const;
    for (const [args, code, reason] of outcomes) {
      const outcome = await heddle(['builtin', ...args]);
      expect(outcome).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(reason) });
    }
  });
});
