import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/core/call.ts';
import { text } from '../../../src/index.ts';
import { verifies } from '../../requirements.ts';
import { temporaryFolder, temporaryHeddleClient } from '../../temporary-heddle.ts';

async function opened(config: JsonObject, options: { onRoots?: () => readonly string[] } = {}) {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'note.txt'), 'a note');
  writeFileSync(join(folder, 'sub/inner.txt'), 'inner');
  const settings = { approvals: { keepOpenMs: 0 }, ...config };
  const heddle = await temporaryHeddleClient({ folder, config: settings, ...options });
  const call = async (name: string, input: JsonObject) => text((await heddle.call(`filesystem.${name}`, input)).value);
  return { folder, heddle, call };
}

const WRITE = { path: 'new.txt', content: 'new' };

verifies(
  'B1',
  'in every mode the read tools run; in guarded and strict the write tool waits for an approver',
  async () => {
    for (const mode of ['guarded', 'strict', 'open']) {
      const { folder, heddle, call } = await opened({ mode });
      expect(await call('fs_read_file', { path: 'note.txt' })).toBe('a note');
      expect(await call('fs_list_directory', {})).toContain('note.txt');
      expect(await call('fs_search_files', { pattern: '*' })).toContain('note.txt');
      expect(await call('fs_get_file_info', { path: 'note.txt' })).toContain('"size":6');
      if (mode === 'open') {
        await call('fs_write_file', WRITE);
        continue;
      }
      await expect(call('fs_write_file', WRITE)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
      expect(existsSync(join(folder, 'new.txt'))).toBe(false);
      const [pending] = await heddle.approvals.list();
      expect(pending).toMatchObject({ subject: { name: 'mcp__filesystem__fs_write_file', riskLevel: 'medium' } });
      await heddle.approvals.approve(pending?.id ?? '');
      expect(await call('fs_write_file', WRITE)).toContain('"created":true');
      expect(readFileSync(join(folder, 'new.txt'), 'utf8')).toBe('new');
    }
  },
);

verifies('C14', 'builtins.filesystem.readOnly removes the write tool, maxFileBytes limits it', async () => {
  const locked = await opened({ mode: 'open', builtins: { filesystem: { readOnly: true } } });
  await expect(locked.call('fs_write_file', WRITE)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
  expect(await locked.call('fs_read_file', { path: 'note.txt' })).toBe('a note');
  const small = await opened({ mode: 'open', builtins: { filesystem: { maxFileBytes: 2 } } });
  expect(await small.call('fs_write_file', WRITE)).toContain('at most 2 are written');
});

verifies('C14', 'builtins.filesystem.clientRoots limits a client to its current roots', async () => {
  let roots: readonly string[] = [];
  const config = { mode: 'open', builtins: { filesystem: { clientRoots: true } } };
  const { folder, call } = await opened(config, { onRoots: () => roots });
  roots = [String(pathToFileURL(join(folder, 'sub')))];
  expect(await call('fs_read_file', { path: 'inner.txt' })).toBe('inner');
  expect(await call('fs_read_file', { path: join(folder, 'note.txt') })).toContain('outside the allowed roots');
  expect(await call('fs_write_file', WRITE)).toContain(join(folder, 'sub/new.txt'));
  roots = [folder];
  expect(await call('fs_read_file', { path: 'note.txt' })).toBe('a note');
  roots = ['/etc'];
  expect(await call('fs_read_file', { path: '/etc/passwd' })).toContain('None of the roots of this client');
});

verifies('B1', 'hides the files of the store, and never writes configuration in use', async () => {
  const folder = await temporaryFolder();
  const store = join(folder, 'data/records.db');
  mkdirSync(join(folder, 'data'));
  const settings = join(folder, 'settings.json');
  const content = JSON.stringify({ mode: 'open', builtins: { filesystem: { allowedPaths: [folder] } }, store });
  writeFileSync(settings, content);
  const heddle = await temporaryHeddleClient({ folder, configFile: settings });
  const call = async (name: string, input: JsonObject) => text((await heddle.call(`filesystem.${name}`, input)).value);
  expect(existsSync(store)).toBe(true);
  for (const path of [store, `${store}-wal`, `${store}-shm`, `${store}-journal`]) {
    expect(await call('fs_read_file', { path, encoding: 'base64' }), path).toContain('outside the allowed roots');
    expect(await call('fs_write_file', { path, content: '' }), path).toContain('outside the allowed roots');
  }
  expect(await call('fs_write_file', { path: settings, content: '{}' })).toContain('never writes');
  expect(readFileSync(settings, 'utf8')).toBe(content);
});
