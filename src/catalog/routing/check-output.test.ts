import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json, JsonObject, Result } from '../../core/call.ts';
import { aCall, aTarget } from '../../core/fixtures.ts';
import { hasOutputSchema, type OutputCheck, outputChecker } from './check-output.ts';

const outputSchema = { type: 'object', properties: { token: { type: 'integer' } }, required: ['token'] };
const target = aTarget({ definition: { name: 'echo', inputSchema: { type: 'object' }, outputSchema } });
const call = aCall({ target });
const resultOf = (value: JsonObject, isError = false): Result & { readonly kind: 'complete' } => ({
  kind: 'complete',
  value,
  isError,
  provenance: { server: 'demo', attempts: 1, latencyMs: 1 },
});
const structured = (structuredContent: Json) => resultOf({ content: [], structuredContent });
const check = (effect: OutputCheck, result: Result) => outputChecker(() => effect)(call, result);

verifies('G4', 'a result that matches its output schema passes as the same object', () => {
  const result = structured({ token: 1 });
  expect(check('flag', result)).toBe(result);
  expect(check('refuse', result)).toBe(result);
});

verifies('G4', 'flag: a mismatch passes, and its provenance names the place without the value', () => {
  const result = structured({ token: 'hunter2' });
  expect(check('flag', result)).toEqual({
    ...result,
    provenance: { ...result.provenance, mismatch: '`token` must be integer' },
  });
  expect(check('flag', structured({}))).toMatchObject({
    provenance: { mismatch: 'structuredContent lacks `token`' },
  });
  expect(check('flag', resultOf({ content: [] }))).toMatchObject({
    provenance: { mismatch: 'it has no structuredContent' },
  });
});

verifies('G4', 'refuse: a mismatch is withheld, and the message says that the tool was called', () => {
  expect(() => check('refuse', structured({ token: 'hunter2' }))).toThrow(
    'mcp__demo__echo was called, and its result was withheld: it does not match the output schema (`token` must be integer).',
  );
});

verifies('G4', 'off: nothing is checked; errors of the tool never are', () => {
  const wrong = structured({ token: 'x' });
  expect(check('off', wrong)).toBe(wrong);
  const failed = resultOf({ content: [] }, true);
  expect(check('refuse', failed)).toBe(failed);
});

verifies('G4', 'a server of a pool is checked by its own output schema', () => {
  const own = { name: 'say', rename: {}, definition: { name: 'say', outputSchema: { required: ['other'] } } };
  const pooled = aCall({ target: { ...target, servers: ['demo', 'b'], equivalents: new Map([['b', own]]) } });
  const result = structured({ token: 1 });
  const fromB = { ...result, provenance: { ...result.provenance, server: 'b' } };
  expect(outputChecker(() => 'flag')(pooled, result)).toBe(result);
  expect(outputChecker(() => 'flag')(pooled, fromB)).toMatchObject({
    provenance: { mismatch: 'structuredContent lacks `other`' },
  });
});

verifies('G4', 'a broken output schema is a mismatch; a tool without one is not checked', () => {
  const broken = aCall({ target: aTarget({ definition: { name: 'echo', outputSchema: { type: 'strng' } } }) });
  expect(outputChecker(() => 'flag')(broken, structured({}))).toMatchObject({
    provenance: { mismatch: expect.stringContaining('its output schema cannot be used') },
  });
  expect(hasOutputSchema(aTarget())).toBe(false);
});
