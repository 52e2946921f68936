import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from './run-command.ts';
import { ROOT, temporaryTree } from './temporary-tree.ts';

const lines = (count: number, line: (n: number) => string) => Array.from({ length: count }, (_, n) => line(n)).join('');
const fileOf = (count: number) => lines(count, (n) => `export const n${n} = ${n};\n`);
// The linter counts the lines between the braces.
const functionOf = (count: number) =>
  `export function long(): number {\n  let sum = 0;\n${lines(count - 2, (n) => `  sum += ${n};\n`)}  return sum;\n}\n`;

function lint(source: string) {
  const cwd = temporaryTree({ copied: ['biome.json'], written: { 'src/core/planted.ts': source } });
  const { code, stdout, stderr } = runCommand(['biome', 'check', '--error-on-warnings', '.'], { cwd });
  return { code, named: stdout + stderr };
}

describe('the linter', () => {
  it('accepts a file of 300 lines and refuses one of 301', () => {
    expect(lint(fileOf(300))).toMatchObject({ code: 0 });
    const { code, named } = lint(fileOf(301));
    expect(named).toContain('noExcessiveLinesPerFile');
    expect(code).not.toBe(0);
  });

  it('accepts a function of 60 lines and refuses one of 61', () => {
    expect(lint(functionOf(60))).toMatchObject({ code: 0 });
    const { code, named } = lint(functionOf(61));
    expect(named).toContain('noExcessiveLinesPerFunction');
    expect(code).not.toBe(0);
  });

  it('refuses `any` and default exports', () => {
    const { named } = lint('export default 1 as any;\n');
    expect(named).toContain('noExplicitAny');
    expect(named).toContain('noDefaultExport');
  });
});

// Two pages of text, one with the glossary and the tree, and one with the files of one call.
it('ARCHITECTURE.md fits on four pages', () => {
  const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  expect(text.split('\n').length).toBeLessThanOrEqual(200);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(14 * 1024);
});
