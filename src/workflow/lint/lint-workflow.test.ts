import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject, Target } from '../../core/call.ts';
import type { Workflow } from '../definition/canonical.ts';
import { compileWorkflow } from '../definition/compile-workflow.ts';
import { lintWorkflow } from './lint-workflow.ts';

const FACTS: Target['facts'] = {
  ...{ category: 'x', riskLevel: 'low', readOnly: true, destructive: false, idempotent: true, concurrent: true },
  ...{ openWorld: false, requiresApproval: false, builtin: false },
};

function target(
  name: string,
  schemas: { input?: JsonObject; output?: JsonObject },
  facts: Partial<Target['facts']> = {},
): Target {
  const definition = {
    name,
    inputSchema: schemas.input ?? { type: 'object' },
    ...(schemas.output && { outputSchema: schemas.output }),
  };
  return {
    kind: 'tool',
    publicName: name,
    servers: ['s'],
    name,
    definition,
    digest: '',
    facts: { ...FACTS, ...facts },
    flags: [],
  };
}

const text = { type: 'string' };
const TOOLS: Readonly<Record<string, Target>> = {
  's.search': target(
    's.search',
    {
      input: {
        type: 'object',
        properties: { query: text, limit: { type: 'integer' } },
        required: ['query'],
        additionalProperties: false,
      },
      output: {
        type: 'object',
        properties: {
          hits: { type: 'array', items: { type: 'object', properties: { url: text }, additionalProperties: false } },
          total: { type: 'integer' },
        },
        additionalProperties: false,
      },
    },
    { costPerCall: 2 },
  ),
  's.get': target('s.get', { input: { type: 'object', properties: { url: text }, required: ['url'] } }),
  's.write': target('s.write', {}, { readOnly: false, destructive: true }),
  's.broken': { ...target('s.broken', {}), invalid: 'its definition has changed.' },
};

/** Lints a workflow of the rich form; `steps` is YAML. */
function lint(steps: string, more = '') {
  const source = `heddle: 1\nname: flow\n${more}\nsteps:\n${steps}`;
  const compiled = compileWorkflow({ file: 'flow.yaml', text: source });
  if (!compiled.workflow) throw new Error(JSON.stringify(compiled.problems));
  return lintWorkflow(compiled.workflow, {
    places: compiled.places,
    describe: (tool) => TOOLS[tool],
    workflow: (name) => (name === 'flow' ? compiled.workflow : undefined),
  });
}

const codesOf = (steps: string, more = '') =>
  lint(steps, more).problems.map(({ code, path = '' }) => `${code} ${path}`.trim());
const SEARCH = '  - { id: search, tool: s.search, input: { query: x } }\n';

describe('lint', () => {
  verifies('W6', 'ends at 100 problems and says so', () => {
    const reads = Array.from({ length: 150 }, (_, at) => `f${at}: $unknown${at}`);
    const { problems } = lint(`  - { id: a, tool: s.write, input: { ${reads.join(', ')} } }`);
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)).toMatchObject({ level: 'error', code: 'CHECK_ENDED' });
  });

  verifies('W6', 'accepts a workflow without problems', () => {
    const steps = `${SEARCH}
  - id: pages
    fanout:
      items: $search.result.hits
      as: hit
      do: [{ id: page, tool: s.get, input: { url: $hit.url } }]
  - id: more
    loop:
      until: $again.result.total > 3
      maxIterations: 3
      do: [{ id: again, tool: s.search, input: { query: "\${{ $loop.index > 0 ? 'a' : 'b' }}" } }]
  - { id: both, parallel: { a: { tool: s.get, input: { url: x } }, b: { tool: s.get, input: { url: y } } } }
`;
    const output = 'output: { urls: "$search.result.hits[*].url", a: $both.result.a, pages: $pages.result.ok }';
    expect(lint(steps, output).problems).toEqual([]);
  });

  verifies('W6', 'finds references to unknown, later, hidden and surrounding steps, with place and fix', () => {
    const { problems } = lint(`${SEARCH}  - id: get\n    tool: s.get\n    input: { url: $serch.result.hits }\n`);
    expect(problems).toEqual([
      {
        level: 'error',
        code: 'STEP_UNKNOWN',
        message: '`$serch.result.hits` refers to no step or value.',
        fix: 'Did you mean `$search`?',
        path: 'get',
        at: { file: 'flow.yaml', line: 8, column: 12 },
      },
    ]);
    expect(codesOf(`  - { id: a, tool: s.get, input: { url: $search.result.x } }\n${SEARCH}`)).toEqual([
      'REFERENCE_FORWARD a',
    ]);
    const inside = '  - { id: all, parallel: { a: [{ id: one, tool: s.get, input: { url: x } }] } }\n';
    expect(codesOf(`${inside}  - { id: b, tool: s.get, input: { url: $one.result.x } }`)).toEqual([
      'REFERENCE_FORWARD b',
    ]);
    expect(codesOf('  - { id: a, sequential: [{ id: b, tool: s.get, input: { url: $a.result } }] }')).toEqual([
      'REFERENCE_CYCLIC a/b',
    ]);
    expect(codesOf('  - { id: a, tool: s.get, input: { url: "${{ $a.result + 1 }}" } }')).toEqual([
      'REFERENCE_CYCLIC a',
    ]);
  });

  verifies('W6', 'finds fields that the output schema, the input schema or the step does not have', () => {
    const url = (value: string) => `${SEARCH}  - { id: get, tool: s.get, input: { url: "${value}" } }`;
    const input = 'input: { type: object, properties: { query: { type: string } }, additionalProperties: false }';
    expect(codesOf(url('$search.result.hitz'))).toEqual(['FIELD_UNKNOWN get']);
    expect(lint(url('${{ $search.result.hits[0].link }}')).problems).toMatchObject([
      { fix: 'Use one of url.', message: '`$search.result.hits[0].link` refers to the unknown field `link`.' },
    ]);
    expect(codesOf(url('$search.hits'))).toEqual(['FIELD_UNKNOWN get']);
    expect(codesOf(url('$input.querry'), input)).toEqual(['FIELD_UNKNOWN get']);
  });

  verifies('W6', 'knows the fields of an approval: the decision, and those of its form', () => {
    const form = 'schema: { type: object, properties: { label: { type: string } }, required: [label] }';
    const asks = `  - { id: ok, approval: { title: t, ${form} } }\n`;
    const reads = (field: string) => `${asks}  - { id: get, tool: s.write, input: { x: "$ok.result.${field}" } }`;
    for (const field of ['label', 'by', 'note', 'approved']) expect(codesOf(reads(field)), field).toEqual([]);
    expect(lint(reads('labl')).problems).toMatchObject([{ code: 'FIELD_UNKNOWN', fix: 'Did you mean `label`?' }]);
    expect(codesOf(reads('by').replace(`, ${form}`, ''))).toEqual([]);
  });

  verifies('W6', 'finds inputs that do not fit the schema of the tool', () => {
    const search = (input: string) => `  - { id: a, tool: s.search, input: ${input} }`;
    expect(codesOf(search('{ limit: 3 }'))).toEqual(['INPUT_MISSING a']);
    expect(codesOf(search('{ query: x, limt: 3 }'))).toEqual(['INPUT_UNKNOWN a']);
    expect(codesOf(search('{ query: $input.q, limt: 3 }'))).toEqual(['INPUT_UNKNOWN a']);
    expect(codesOf(search('{ query: x, limit: many }'))).toEqual(['TYPE_MISMATCH a']);
    expect(lint('  - { id: a, tool: s.get, input: { urll: x } }').problems).toMatchObject([
      { level: 'error', code: 'INPUT_MISSING' },
      { level: 'warning', code: 'INPUT_UNKNOWN', fix: 'Did you mean `url`?' },
    ]);
    expect(codesOf('  - { id: a, tool: s.get, input: { url: x, more: y } }')).toEqual([]);
    expect(codesOf(search('{ query: "${{ 1 + 1 }}" }'))).toEqual(['TYPE_MISMATCH a']);
    expect(codesOf(search('{ query: "${{ $input.q + 1 }}", limit: "about ${{ $input.n }}" }'))).toEqual([
      'TYPE_MISMATCH a',
    ]);
    expect(lint(`${SEARCH}  - { id: get, tool: s.get, input: { url: $search.result.hits } }`).problems).toMatchObject([
      { code: 'TYPE_MISMATCH', message: '`url` of s.get is string, and this is array.' },
    ]);
  });

  verifies('W6', 'finds tools that are unknown or cannot be called, also in code and compensations', () => {
    const code = "  - { id: c, code: { tools: [s.none], ts: 'return 1' } }\n";
    const undone = '  - { id: w, tool: s.get, input: { url: x }, compensate: { tool: s.gone } }';
    expect(codesOf(`  - { id: a, tool: s.serch }\n  - { id: b, tool: s.broken }\n${code}${undone}`)).toEqual([
      'TOOL_UNKNOWN a',
      'TOOL_BLOCKED b',
      'TOOL_UNKNOWN c',
      'TOOL_UNKNOWN w',
    ]);
    expect(codesOf('  - { id: a, workflow: flow }\n  - { id: b, workflow: none }')).toEqual([
      'WORKFLOW_CYCLIC a',
      'WORKFLOW_UNKNOWN b',
    ]);
  });

  verifies('W6', 'finds steps that never run, races with side effects and loops that cannot end', () => {
    const race =
      '  - { id: r, parallel: { a: { tool: s.get, input: { url: x } }, b: { tool: s.write } }, mode: first }\n';
    expect(lint(race).problems).toMatchObject([{ level: 'error', code: 'RACE_WITH_SIDE_EFFECTS', path: 'r' }]);
    expect(codesOf(race.replace('mode: first', 'mode: first, allowSideEffects: true'))).toEqual([]);
    expect(codesOf('  - { id: a, tool: s.get, input: { url: x }, if: "false" }')).toEqual(['STEP_UNREACHABLE a']);
    const step = '[{ id: one, tool: s.get, input: { url: x } }]';
    expect(
      codesOf(`  - { id: a, switch: [{ when: "true", then: ${step} }], else: [{ id: two, tool: s.write }] }`),
    ).toEqual(['STEP_UNREACHABLE a']);
    expect(codesOf(`  - { id: a, loop: { until: $input.x, maxIterations: 3, do: ${step} } }`)).toEqual([
      'LOOP_ENDLESS a',
    ]);
  });

  verifies('W6', 'warns of references to steps that may be skipped, unless a condition tests them', () => {
    const get = '  - { id: get, if: $input.x, tool: s.get, input: { url: x } }\n';
    const use = '  - { id: use, tool: s.get, input: { url: $get.result.text } }';
    expect(lint(get + use).problems).toMatchObject([{ level: 'warning', code: 'REFERENCE_SKIPPABLE', path: 'use' }]);
    expect(codesOf(`${get}${use.replace('id: use,', "id: use, if: $get.status == 'ok',")}`)).toEqual([]);
    expect(codesOf(`${get}${use.replace('$get.result.text', '"${{ $get.?result.?text.orValue(\'\') }}"')}`)).toEqual(
      [],
    );
  });

  verifies('W6', 'knows the names and fields of the classic form', () => {
    const { workflow, places } = compileWorkflow({
      value: {
        name: 'classic',
        errorHandling: 'skip',
        steps: [
          {
            type: 'sequential',
            id: 'a',
            toolName: 's.get',
            inputMapping: { url: '$input.q' },
            outputMapping: { u: '$a.result.structuredContent.x' },
          },
          {
            ...{ type: 'loop', id: 'l', condition: '$var.iteration < 3', maxIterations: 5 },
            body: {
              type: 'sequential',
              id: 'b',
              toolName: 's.get',
              inputMapping: { url: 'x', all: '$var.loopResults' },
            },
          },
          { type: 'fanout', id: 'f', toolName: 's.write', splitExpression: '$l.result', mergeTool: 's.write' },
          { type: 'pipeline', id: 'p', steps: [{ transform: { v: '$prev.x' } }, { filter: '$item.v > 1' }] },
          {
            type: 'conditional',
            id: 'k',
            condition: '$a.result.tota > 3',
            ifTrue: { id: 'd', toolName: 's.get', inputMapping: { url: 'u' } },
          },
          {
            type: 'sequential',
            id: 'last',
            toolName: 's.get',
            inputMapping: { url: '$var.u', c: '$b.content', x: '$a.result.x', y: '$c.x' },
          },
        ],
      },
    });
    const { problems } = lintWorkflow(workflow as Workflow, { places, describe: (tool) => TOOLS[tool] });
    const skippable = 'Use `errorHandling: stop`,';
    expect(problems.map(({ level, code, path, fix }) => [level, code, path, fix.slice(0, 26)])).toEqual([
      ['warning', 'REFERENCE_SKIPPABLE', 'f', skippable],
      ['warning', 'REFERENCE_SKIPPABLE', 'k', skippable],
      ['error', 'FIELD_UNKNOWN', 'k', 'Use one of content, isErro'],
      ['warning', 'REFERENCE_SKIPPABLE', 'last', skippable],
      ['warning', 'REFERENCE_SKIPPABLE', 'last', skippable],
      ['warning', 'FIELD_UNKNOWN', 'last', 'Use one of content, isErro'],
      ['warning', 'STEP_UNKNOWN', 'last', expect.any(String)],
    ]);
  });

  verifies('W6', 'finds secrets in literals and does not repeat them', () => {
    const { problems } = lint(
      '  - { id: a, tool: s.write, input: { key: sk-live-1234567890abcdef, password: hunter2 } }',
    );
    expect(problems.map(({ level, code }) => [level, code])).toEqual([
      ['error', 'SECRET_LITERAL'],
      ['warning', 'SECRET_LITERAL'],
    ]);
    expect(JSON.stringify(problems)).not.toMatch(/1234567890|hunter2/);
  });
});

describe('the estimate of a run', () => {
  verifies('W6', 'has the least and the most calls and their cost', () => {
    const steps = `${SEARCH}  - { id: maybe, if: $input.x, tool: s.search, input: { query: x }, retry: { max: 2 } }
  - { id: again, loop: { until: $one.result.total > 1, maxIterations: 4, do: [{ id: one, tool: s.search, input: { query: x } }] } }
  - { id: list, fanout: { items: "\${{ [1, 2] }}", do: [{ id: two, tool: s.get, input: { url: x } }] } }`;
    expect(lint(SEARCH).estimate).toEqual({ minCalls: 1, maxCalls: 1, minCost: 2, maxCost: 2 });
    expect(lint(steps).estimate).toEqual({ minCalls: 2, minCost: 4, maxCost: 16 });
  });

  verifies('W6', 'takes no exponential time for workflows that call one another often', () => {
    const twice = (at: number) => `[{ id: a, workflow: w${at} }, { id: b, workflow: w${at} }]`;
    const compiled = Array.from({ length: 40 }, (_, at) => {
      const steps = at === 39 ? '[{ id: a, tool: s.get }, { id: b, tool: s.get }]' : twice(at + 1);
      return compileWorkflow({ name: `w${at}`, text: `heddle: 1\nsteps: ${steps}` }).workflow;
    });
    const { estimate } = lintWorkflow(compiled[0] as Workflow, {
      describe: (tool) => TOOLS[tool],
      workflow: (name) => compiled[Number(name.slice(1))],
      places: () => undefined,
    });
    expect(estimate).toEqual({ minCalls: 2 ** 40, maxCalls: 2 ** 40 });
  });
});
