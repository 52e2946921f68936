import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { CallKind, JsonObject } from '../core/call.ts';
import { aCall, aTarget } from '../core/fixtures.ts';
import { withPlainInput } from './plain-input.ts';

const greet = aTarget({
  kind: 'prompt',
  publicName: 'mcp__s__greet',
  definition: { name: 'greet', arguments: [{ name: 'who', required: true }, { name: 'how' }] },
});
const wrong = (kind: CallKind, input: JsonObject) => {
  try {
    withPlainInput(aCall({ kind, input, target: greet }));
    return undefined;
  } catch (thrown) {
    return thrown;
  }
};

verifies('R6', 'a prompt accepts string arguments and requires the required ones', () => {
  expect(wrong('prompt', { who: 'Ada' })).toBeUndefined();
  expect(wrong('prompt', { who: 'Ada', more: 'x' })).toBeUndefined();
  const missing = 'The arguments of mcp__s__greet do not fit: who is missing.';
  expect(wrong('prompt', { how: 'so' })).toMatchObject({ code: 'INPUT_INVALID', message: missing });
  expect(wrong('prompt', { who: 'Ada', how: 1 })).toMatchObject({
    message: expect.stringContaining('how has to be a text'),
  });
});

verifies('R6', 'a completion needs a named argument and string context arguments', () => {
  const argument = { name: 'who', value: 'A' };
  expect(wrong('completion', { argument })).toBeUndefined();
  expect(wrong('completion', { argument, context: { arguments: { how: 'so' } } })).toBeUndefined();
  for (const input of [
    {},
    { argument: { name: 'who' } },
    { argument, context: 1 },
    { argument, context: { arguments: { how: 1 } } },
  ]) {
    expect(wrong('completion', input)).toMatchObject({ code: 'INPUT_INVALID' });
  }
});
