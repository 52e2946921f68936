import fc from 'fast-check';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { compileWorkflow } from './compile-workflow.ts';

const json = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll('$', 's').replaceAll('__proto__', 'p')));
const anyTool = fc.record({
  id: fc.stringMatching(/^[a-z]{3,8}$/),
  tool: fc.constant('s.t'),
  input: fc.dictionary(fc.stringMatching(/^[a-z]+$/), json, { maxKeys: 3 }),
});
const anyFlow = fc.record({
  heddle: fc.constant(1),
  name: fc.constant('flow'),
  steps: fc.uniqueArray(anyTool, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
});
const reversed = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(reversed)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .reverse()
            .map(([key, one]) => [key, reversed(one)]),
        )
      : value;

verifies('W1', 'gives one digest for YAML, JSON and a value, in any order of keys', () => {
  fc.assert(
    fc.property(anyFlow, (flow) => {
      fc.pre(!/\d{16}|e\+/.test(JSON.stringify(flow)));
      const sources = [
        { value: flow as unknown as JsonObject },
        { value: reversed(flow) as JsonObject },
        { text: JSON.stringify(flow), language: 'json' as const },
        { text: stringify(reversed(flow), { aliasDuplicateObjects: false }), language: 'yaml' as const },
      ];
      const compiled = sources.map((source) => compileWorkflow(source));
      fc.pre(compiled[0]?.digest !== undefined);
      expect(new Set(compiled.map(({ digest }) => digest)).size).toBe(1);
    }),
    { numRuns: 25 },
  );
});

const MEANINGFUL = [
  ...'{}[]:,-&*!|>\'"%@`#?$~/\\ \n\ta1\u0000\ud800',
  'heddle: 1\n',
  'steps:',
  '- id: a\n',
  'tool: b',
  '${{',
  '}}',
];

verifies('W1', 'never throws, whatever the text is', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...MEANINGFUL), maxLength: 60 }),
      fc.constantFrom('yaml', 'json'),
      (text, language) => {
        const { workflow, problems } = compileWorkflow({ text, language: language as 'yaml' });
        expect(workflow === undefined).toBe(problems.some(({ level }) => level === 'error'));
      },
    ),
    { numRuns: 100 },
  );
});

verifies('W1', 'gives the place of every canonical node of a file, and none of a value', () => {
  const { workflow, places } = compileWorkflow({
    file: 'flow.yaml',
    text: 'heddle: 1\nname: flow\nsteps:\n  - id: a\n    tool: s.t\n    input:\n      x: $input.y\n',
  });
  const step = workflow?.steps[0];
  expect(step && places(step)).toEqual({ file: 'flow.yaml', line: 4, column: 5 });
  const input = step?.kind === 'tool' && 'object' in step.input ? step.input.object.x : undefined;
  expect(input && places(input)).toEqual({ file: 'flow.yaml', line: 7, column: 10 });
});
