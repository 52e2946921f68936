import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { runCommand } from './run-command.ts';
import { temporaryTree } from './temporary-tree.ts';

const PACKAGE = JSON.stringify({ name: 'heddle', version: '0.0.0', type: 'module', bin: { heddle: 'bin/heddle' } });
const MAIN = "export async function main(argv: string[]) {\n  console.log('source', process.cwd(), ...argv);\n}\n";
// The Node of a clone: prints that it was used, and runs the program.
const OWN_NODE = `#!/bin/sh\necho own node\nexec ${process.execPath} "$@"\n`;

const clone = (more: Readonly<Record<string, string>> = {}) =>
  temporaryTree({
    copied: ['bin/heddle', 'bin/package.json'],
    written: { 'package.json': PACKAGE, 'src/cli/main.ts': MAIN, ...more },
  });

verifies('L6', 'after `npm link` in the clone, `heddle` runs in every folder with the Node of the clone', () => {
  const root = clone({ 'node_modules/.bin/node': OWN_NODE });
  const prefix = join(root, 'prefix');
  const outside = join(root, 'else where');
  for (const folder of [prefix, outside]) mkdirSync(folder);
  const env = { HOME: root, npm_config_prefix: prefix, npm_config_offline: 'true', npm_config_audit: 'false' };
  expect(runCommand(['npm', 'link'], { cwd: root, env })).toMatchObject({ code: 0 });
  const { code, stdout, stderr } = runCommand([join(prefix, 'bin', 'heddle'), 'list', 'a b'], { cwd: outside });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `own node\nsource ${outside} list a b\n`, stderr: '' });
});

it('runs with the Node on PATH where the clone brings none, and through a link to a link', () => {
  const root = clone();
  symlinkSync(join(root, 'bin', 'heddle'), join(root, 'first'));
  symlinkSync('first', join(root, 'second'));
  expect(runCommand([join(root, 'second'), 'list'], { cwd: root })).toEqual({
    code: 0,
    stdout: `source ${root} list\n`,
    stderr: '',
  });
});
