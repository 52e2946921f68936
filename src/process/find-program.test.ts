import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { findProgram } from './find-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'heddle-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (path: string, mode: number) => {
  writeFileSync(join(folder, path), '');
  chmodSync(join(folder, path), mode);
};
mkdirSync(join(folder, 'first', 'tool'), { recursive: true });
mkdirSync(join(folder, 'second'));
file('second/tool', 0o755);
file('second/text', 0o644);

const path = `${join(folder, 'first')}:${join(folder, 'second')}`;
const tool = join(folder, 'second', 'tool');

for (const [command, search, found] of [
  ['tool', { path }, { file: tool }],
  ['text', { path }, { forbidden: join(folder, 'second', 'text') }],
  ['first', { path: folder }, { forbidden: join(folder, 'first') }],
  ['absent', { path }, { missing: true }],
  [tool, {}, { file: tool }],
  ['./second/tool', { cwd: folder }, { file: tool }],
  ['second/tool', { cwd: folder, path }, { file: tool }],
  ['tool', { cwd: join(folder, 'second'), path: '/nowhere:' }, { file: tool }],
  ['tool', { cwd: join(folder, 'second'), path }, { file: tool }],
  ['sh', {}, { file: expect.stringMatching(/^(\/usr)?\/bin\/sh$/) }],
] as const) {
  it(`finds ${command.replace(folder, '…')} as starting it would: ${JSON.stringify(Object.keys(search))}`, async () => {
    expect(await findProgram(command, search)).toEqual(found);
  });
}
