import { expect } from 'vitest';
import { within } from '../../../../test/limits.ts';
import { verifies } from '../../../../test/requirements.ts';
import { compileWorkflow } from '../compile-workflow.ts';

const FLOW = 'heddle: 1\nname: a\nsteps:\n  - id: one\n    tool: s.t\n    input: ';
const first = (text: string, file = 'a.yaml') => compileWorkflow({ text, file }).problems[0];

/** Compiles a flow with this input. The input begins at line 6, column 12. */
const problemOf = (input: string) => first(`${FLOW}${input}\n`);

const TRAPS: readonly (readonly [name: string, input: string, code: string, column: number])[] = [
  ['a tag', '{ a: !!str 1 }', 'YAML_TAG', 17],
  ['a custom tag', '{ a: !secret x }', 'YAML_TAG', 17],
  ['.inf', '{ a: .inf }', 'NUMBER_NOT_JSON', 17],
  ['.nan', '{ a: .nan }', 'NUMBER_NOT_JSON', 17],
  ['an integer beyond 2^53', '{ a: 9007199254740993 }', 'NUMBER_NOT_EXACT', 17],
  ['a hexadecimal integer beyond 2^53', '{ a: 0xFFFFFFFFFFFFFFFF }', 'NUMBER_NOT_EXACT', 17],
  ['a merge key', '{ <<: { a: 1 } }', 'YAML_MERGE_KEY', 14],
  ['a key that is written twice', '{ a: 1, a: 2 }', 'KEY_REPEATED', 20],
  ['the key __proto__', '{ __proto__: 1 }', 'KEY_INVALID', 14],
  ['a key that is a list', '{ [a]: 1 }', 'KEY_INVALID', 14],
  ['a key that is a number', '{ 1: 1 }', 'KEY_INVALID', 14],
  ['an alias without anchor', '{ a: *b }', 'SYNTAX_INVALID', 17],
];

for (const [name, input, code, column] of TRAPS) {
  verifies('W1', `refuses ${name} in YAML, with its place`, () => {
    expect(problemOf(input)).toMatchObject({ level: 'error', code, at: { file: 'a.yaml', line: 6, column } });
  });
}

for (const input of ['{a: ${{ x }} }', '{a: $b[0]}', '{a: 1, b: $b[*].c}', '[$b[0]]']) {
  verifies('W1', `says that ${input} needs quotes`, () => {
    const problem = problemOf(input);
    expect(problem).toMatchObject({ code: 'SYNTAX_INVALID', fix: expect.stringContaining('in quotes') });
    expect(problem?.at).toEqual({ file: 'a.yaml', line: 6, column: 12 + input.indexOf('$') });
  });
}

verifies('W1', 'refuses several documents in one file', () => {
  expect(first(`${FLOW}{}\n---\nheddle: 1\n`)).toMatchObject({ code: 'YAML_DOCUMENTS', at: { line: 7, column: 1 } });
});

verifies('W1', 'expands up to 100 aliases, and refuses more', () => {
  const aliases = (count: number) => `${FLOW}{ a: &x 1, b: [${Array(count).fill('*x').join(', ')}] }\n`;
  expect(compileWorkflow({ text: aliases(100) }).workflow).toMatchObject({
    steps: [{ input: { value: { a: 1, b: Array(100).fill(1) } } }],
  });
  expect(first(aliases(101))).toMatchObject({ code: 'YAML_ALIASES', at: { line: 6 } });
});

verifies('W1', 'reads the values of YAML 1.2, not those of YAML 1.1', () => {
  const { workflow } = compileWorkflow({
    text: `${FLOW}{ a: yes, b: 0o17, c: 1e3, d: 2026-01-01, e: ~, f: 1_000, g: on }\n`,
  });
  const value = { a: 'yes', b: 15, c: 1000, d: '2026-01-01', e: null, f: '1_000', g: 'on' };
  expect(workflow?.steps[0]).toMatchObject({ input: { value } });
});

verifies('W1', 'reads JSON with comments and trailing commas, and reports its traps with their places', () => {
  const json = (input: string) =>
    `{\n// a comment\n"heddle": 1, "name": "a",\n"steps": [{"id": "x", "tool": "s.t", "input": ${input}}],}`;
  expect(compileWorkflow({ text: json('{"a": 1,}'), file: 'a.json' }).digest).toMatch(/^[0-9a-f]{64}$/);
  expect(first(json('{"a": 1, "a": 2}'), 'a.json')).toMatchObject({
    code: 'KEY_REPEATED',
    at: { line: 4, column: 56 },
  });
  expect(first(json('{"a": 9007199254740993}'), 'a.json')).toMatchObject({ code: 'NUMBER_NOT_EXACT', at: { line: 4 } });
  expect(first(json('{"__proto__": {}}'), 'a.json')).toMatchObject({ code: 'KEY_INVALID' });
  expect(first(json('{"a": }'), 'a.json')).toMatchObject({ code: 'SYNTAX_INVALID', at: { file: 'a.json', line: 4 } });
});

verifies('W1', 'refuses values of a program that are not JSON', () => {
  const withInput = (input: unknown) =>
    compileWorkflow({ value: { heddle: 1, name: 'a', steps: [{ id: 'x', tool: 's.t', input }] } as never }).problems[0];
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  expect(withInput({ a: () => 1 })).toMatchObject({ code: 'VALUE_NOT_JSON' });
  expect(withInput({ a: new Date(0) })).toMatchObject({ code: 'VALUE_NOT_JSON' });
  expect(withInput({ a: Number.NaN })).toMatchObject({ code: 'NUMBER_NOT_JSON' });
  expect(withInput(cyclic)).toMatchObject({ code: 'NESTED_TOO_DEEPLY' });
  expect(withInput(JSON.parse('{"__proto__": 1}'))).toMatchObject({ code: 'KEY_INVALID' });
  expect(withInput({ a: 'x'.repeat(300_000) })).toMatchObject({ code: 'SOURCE_TOO_LARGE' });
});

verifies('C7', 'places the problems of a value at its entry in the configuration', () => {
  const at = { file: 'heddle.json', line: 7, column: 3 };
  expect(compileWorkflow({ value: { heddle: 1, steps: [] }, name: 'a', at }).problems).toMatchObject([{ at }]);
});

const LAUGHS = Array.from(
  { length: 11 },
  (_, level) => `l${level + 1}: &l${level + 1} [${Array(9).fill(`*l${level}`).join(',')}]`,
);

/** Definitions that are made to take time or memory. */
const HOSTILE: readonly (readonly [name: string, text: string, file: string, code: string])[] = [
  ['of 5 MB', `${FLOW}${'x'.repeat(5_000_000)}`, 'a.yaml', 'SOURCE_TOO_LARGE'],
  ['of 200 000 characters with 3 bytes each', `${FLOW}${'€'.repeat(200_000)}`, 'a.yaml', 'SOURCE_TOO_LARGE'],
  ['with 100 000 lists inside of one another', '['.repeat(100_000), 'a.yaml', 'SYNTAX_INVALID|NESTED_TOO_DEEPLY'],
  [
    'with 100 000 lists inside of one another, closed',
    '['.repeat(100_000) + ']'.repeat(100_000),
    'a.yaml',
    'NESTED_TOO_DEEPLY',
  ],
  ['with 100 000 lists inside of one another', '['.repeat(100_000), 'a.json', 'NESTED_TOO_DEEPLY'],
  ['with 50 000 sequences inside of one another', '- '.repeat(50_000), 'a.yaml', 'NESTED_TOO_DEEPLY'],
  ['with 80 000 anchors', `a: [${'&x '.repeat(80_000)}]`, 'a.yaml', 'YAML_ALIASES'],
  ['with 80 000 aliases', `a: &x 1\nb: [${'*x,'.repeat(80_000)}]`, 'a.yaml', 'YAML_ALIASES'],
  ['whose aliases expand to 9^11 values', `l0: &l0 [a]\n${LAUGHS.join('\n')}`, 'a.yaml', 'YAML_ALIASES'],
  ['whose alias contains itself', 'a: &x [*x, *x]', 'a.yaml', 'YAML_ALIASES|NESTED_TOO_DEEPLY|SYNTAX_INVALID'],
  ['with 10 000 errors', '}\n'.repeat(10_000), 'a.yaml', 'SYNTAX_INVALID'],
  ['with 5 000 keys that are written twice', 'a: 1\n'.repeat(5_000), 'a.yaml', 'KEY_REPEATED'],
];

for (const [name, text, file, code] of HOSTILE) {
  verifies('W1', `refuses a definition ${name} (${file}) at once`, async () => {
    const found = await within(2000, () => compileWorkflow({ text, file }));
    expect(found.workflow).toBeUndefined();
    expect(found.problems[0]?.code).toMatch(new RegExp(`^(${code})$`));
  });
}
