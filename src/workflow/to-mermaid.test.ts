import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { compileWorkflow } from './definition/compile-workflow.ts';
import { toMermaid } from './to-mermaid.ts';

function draw(steps: string): string {
  const { workflow, problems } = compileWorkflow({ text: `heddle: 1\nname: flow\nsteps:\n${steps}`, language: 'yaml' });
  if (!workflow) throw new Error(JSON.stringify(problems));
  return toMermaid(workflow);
}

describe('the drawing of a workflow', () => {
  verifies('W6', 'shows steps, branches, cases and loops', () => {
    const steps = `
  - { id: search, parallel: { a: { tool: s.a }, b: { tool: s.b } }, mode: first }
  - id: decide
    switch: [{ when: $input.n > 1, then: [{ id: ok, approval: { title: Go on } }] }]
  - id: pages
    fanout: { items: $input.list, as: page, do: [{ id: get, tool: s.get }] }
  - { id: write, if: $input.n, tool: s.write, compensate: { tool: s.undo } }`;
    expect(draw(steps)).toBe(`flowchart TD
  n0(["flow"])
  n1{"search: parallel first"}
  n2["a: s.a"]
  n1 -->|"a"| n2
  n3["b: s.b"]
  n1 -->|"b"| n3
  n4(["join"])
  n2 --> n4
  n3 --> n4
  n0 --> n1
  n5{"decide: switch"}
  n6[/"ok: approval"/]
  n5 -->|"$input.n #62; 1"| n6
  n7(["join"])
  n6 --> n7
  n5 --> n7
  n4 --> n5
  subgraph g8["pages: for each page, 5 at once"]
    n9(["pages"])
    n10["get: s.get"]
    n9 --> n10
  end
  n7 --> n9
  n11["write: s.write if $input.n"]
  n12["undo: s.undo"]
  n11 -->|"if the run stops"| n12
  n10 --> n11
  n13(["end"])
  n11 --> n13
`);
  });

  verifies('W6', 'shows the parts of a pipeline in their order', () => {
    const { workflow } = compileWorkflow({
      value: {
        name: 'classic',
        steps: [
          {
            ...{ type: 'pipeline', id: 'p' },
            steps: [{ filter: '$item.n > 1' }, { enrich: { toolName: 's.get', as: 'more' } }, { transform: '$item.n' }],
          },
        ],
      },
    });
    expect(workflow && toMermaid(workflow)).toContain(`    n2(["p"])
    n3["filter $item.n #62; 1"]
    n2 --> n3
    n4["more: s.get for each item"]
    n3 --> n4
    n5["transform"]
    n4 --> n5
`);
  });

  verifies('W6', 'escapes names and conditions, so that none can add to the drawing', () => {
    const hostile = '"];\n  click n0 "javascript:alert(1)"\n%%{i: {}}%%<b>`';
    const drawn = draw(`  - { id: a, tool: ${JSON.stringify(hostile)} }\n`);
    expect(drawn.split('\n')).toHaveLength(7);
    expect(drawn).not.toMatch(/<|>[^ |]|`|%%|"javascript|\n\s*click/);
  });
});
