import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { CallKind, JsonObject, ResolvedCall, Target } from '../core/call.ts';
import { aCall, aTarget } from '../core/fixtures.ts';
import { errorResult, requestOf, requestOptionsOf } from './call-request.ts';
import type { LegacyCall } from './elicitation/pending-call.ts';
import { suspendedCalls } from './elicitation/suspended-calls.ts';

const of = (kind: CallKind, target: Partial<Target>, input: JsonObject = {}, more: Partial<ResolvedCall> = {}) =>
  aCall({ kind, input, target: aTarget(target), ...more });

verifies('R6', 'sends each kind of call with the method and the names of the server', () => {
  const expected: readonly (readonly [ResolvedCall, string, JsonObject])[] = [
    [of('tool', { name: 't' }, { a: 1 }), 'tools/call', { name: 't', arguments: { a: 1 } }],
    [of('resource', { kind: 'resource', name: 'u:1' }), 'resources/read', { uri: 'u:1' }],
    [of('prompt', { kind: 'prompt', name: 'p' }), 'prompts/get', { name: 'p' }],
    [of('prompt', { kind: 'prompt', name: 'p' }, { a: 'b' }), 'prompts/get', { name: 'p', arguments: { a: 'b' } }],
    [
      of('completion', { kind: 'prompt', name: 'p' }, { ref: { type: 'ref/prompt', name: 'mcp__s__p' }, argument: {} }),
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'p' }, argument: {} },
    ],
    [
      of('completion', { kind: 'template', name: 'u:{x}' }, { ref: { type: 'ref/resource', uri: 'heddle://s/u:{x}' } }),
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'u:{x}' } },
    ],
  ];
  for (const [call, method, params] of expected) {
    expect(requestOf(call)).toEqual({ method, params });
    expect(requestOf({ ...call, meta: { mine: 1 } })).toEqual({ method, params: { ...params, _meta: { mine: 1 } } });
  }
});

verifies('T10', 'returns an error result of Heddle for tools only, and throws for prompts and resources', () => {
  expect(errorResult(of('tool', {}), 'demo', 'no')).toMatchObject({ isError: true });
  for (const kind of ['prompt', 'resource'] as const) {
    expect(() => errorResult(of(kind, {}), 'demo', 'no')).toThrow(expect.objectContaining({ code: 'UPSTREAM_FAILED' }));
  }
});

verifies('T10', 'rejects a ticket for a call of another kind', () => {
  const waiting = suspendedCalls();
  const legacyCall = { server: 'demo', isOver: false, check: () => ({}), cancel() {} } as unknown as LegacyCall;
  const call = of('tool', { name: 'same' });
  const ticket = waiting.suspend(legacyCall, call);
  const continuation = { kind: 'suspended', server: 'demo', ticket } as const;
  expect(() => waiting.take({ ...call, kind: 'prompt', continuation })).toThrow(
    expect.objectContaining({ code: 'INPUT_INVALID' }),
  );
  expect(waiting.take({ ...call, continuation }).legacyCall).toBe(legacyCall);
});

verifies('T6', 'gives a call without a timeout 30 s', () => {
  expect(requestOptionsOf(aCall()).deadlineMs).toBe(30_000);
  expect(requestOptionsOf(aCall({ options: { timeoutMs: 70 } })).deadlineMs).toBe(70);
});
