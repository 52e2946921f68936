import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { defineWorkflow } from '../../index.ts';
import { compileWorkflow } from './compile-workflow.ts';

verifies('W1', 'defineWorkflow compiles to the same workflow as YAML', () => {
  const typed = defineWorkflow({
    name: 'typed',
    defaults: { timeout: '20s' },
    steps: [
      { id: 'search', tool: 'web.search', input: { q: '$input.query' }, retry: { max: 2 } },
      {
        id: 'pages',
        fanout: { items: '$search.result.hits', as: 'hit', do: { id: 'get', tool: 'web.get', input: '$hit' } },
      },
      { id: 'ask', approval: { title: 'Go on?', approvers: ['role:approver'], expires: '1h' } },
      { id: 'both', parallel: { a: { tool: 's.a' }, b: [{ id: 'x', wait: { for: '1s' } }] } },
      { id: 'again', loop: { until: '$try.result.ok', maxIterations: 3, do: [{ id: 'try', tool: 's.try' }] } },
      { id: 'end', code: { ts: 'return input', tools: [] }, fallback: { ok: false } },
    ],
    output: { count: '${{ size($pages.result.items) }}' },
  });
  const yaml = `
heddle: 1
name: typed
defaults: { timeout: 20s }
steps:
  - { id: search, tool: web.search, input: { q: $input.query }, retry: { max: 2 } }
  - { id: pages, fanout: { items: $search.result.hits, as: hit, do: { id: get, tool: web.get, input: $hit } } }
  - { id: ask, approval: { title: "Go on?", approvers: [role:approver], expires: 1h } }
  - { id: both, parallel: { a: { tool: s.a }, b: [{ id: x, wait: { for: 1s } }] } }
  - { id: again, loop: { until: $try.result.ok, maxIterations: 3, do: [{ id: try, tool: s.try }] } }
  - { id: end, code: { ts: return input, tools: [] }, fallback: { ok: false } }
output: { count: "\${{ size($pages.result.items) }}" }
`;
  const compiled = compileWorkflow(typed);
  expect(compiled.problems).toEqual([]);
  expect(compiled.digest).toBe(compileWorkflow({ text: yaml }).digest);
});

it('refuses wrong definitions when types are checked', () => {
  const check = (..._: readonly unknown[]) => undefined;
  check(
    // @ts-expect-error A step has an id.
    () => defineWorkflow({ name: 'a', steps: [{ tool: 's.t' }] }),
    // @ts-expect-error A duration has a unit.
    () => defineWorkflow({ name: 'a', steps: [{ id: 'a', tool: 's.t', timeout: '20' }] }),
    // @ts-expect-error `onExpire: approve` is not part of the format.
    () => defineWorkflow({ name: 'a', steps: [{ id: 'a', approval: { title: 'x', onExpire: 'approve' } }] }),
    // @ts-expect-error A loop has `maxIterations`.
    () => defineWorkflow({ name: 'a', steps: [{ id: 'a', loop: { until: 'true', do: [] } }] }),
    // @ts-expect-error The key is `retry`.
    () => defineWorkflow({ name: 'a', steps: [{ id: 'a', tool: 's.t', retires: { max: 1 } }] }),
  );
  expect(compileWorkflow(defineWorkflow({ name: 'a', steps: [] })).workflow).toBeUndefined();
});
