import { describe, expect, it } from 'vitest';
import { ROOT } from './temporary-tree.ts';
import { findRepeatedNames, findWordProblems, read, readFiles } from './words.ts';

/** Names that two files export on purpose, each with its reason. */
const REPEATED = new Set([
  'openHeddle', // The public function wraps the composition root's.
  'MIGRATIONS', // One list per database.
  'loadQueries', // One per database.
]);

const source = () => readFiles(ROOT, ['src', 'test', 'bench', 'eval', 'tools', 'examples'], ['.ts', '.mjs']);
const pages = () => [
  ...readFiles(ROOT, ['docs'], ['.md']),
  ...[
    'README.md',
    'ARCHITECTURE.md',
    'AGENTS.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'bench/README.md',
  ].map((path) => read(ROOT, path)),
];

describe('the words of this repository', () => {
  it('are the words of MCP, HTTP and TypeScript', () => {
    expect(findWordProblems([...source(), ...pages()])).toEqual([]);
  });

  it('give one exported name to one thing', () => {
    expect(findRepeatedNames(source(), REPEATED)).toEqual([]);
  });
});

describe('the check of words', () => {
  const planted = (path: string, text: string) => findWordProblems([{ path, text }]);

  it('names an exported identifier with a retired word', () => {
    expect(planted('src/wire/planted.ts', 'export class StdioLine {}\n')).toEqual([
      'src/wire/planted.ts:1: the exported name StdioLine contains "line"',
    ]);
    expect(planted('src/wire/planted.ts', 'export const deadline = 1;\nexport type Online = 1;\n')).toEqual([]);
  });

  it('names a doc comment that begins with a forbidden word', () => {
    expect(planted('src/wire/planted.ts', 'const a = 1;\n/** What it is. */\nconst b = 2;\n')).toEqual([
      'src/wire/planted.ts:2: a doc comment begins with "What"',
    ]);
  });

  it('names a forbidden pronoun in code, test titles and pages, and allows the Unix user', () => {
    expect(planted('docs/planted.md', 'For whoever reads it.\n')).toEqual(['docs/planted.md:1: "whoever"']);
    expect(planted('src/process/planted.ts', "run('nobody');\n")).toEqual([]);
  });

  it('names an exported name that two files use', () => {
    const files = ['src/a.ts', 'src/b.ts'].map((path) => ({ path, text: 'export const same = 1;\n' }));
    expect(findRepeatedNames(files, new Set())).toEqual(['same is exported by src/a.ts, src/b.ts']);
  });
});
