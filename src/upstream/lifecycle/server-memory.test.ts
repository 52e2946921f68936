import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { memories } from './server-memory.ts';

const lists = { tools: [], resources: [], templates: [], prompts: [] };
const memory = (abilities: number, signature = 'sig') =>
  ({ server: 'demo', abilities, signature, era: 'legacy', at: 0, lists }) as const;
const demo = { name: 'demo', signature: 'sig' };

verifies('T3', 'what a server lists to those who can be asked is nothing to a process that cannot be', () => {
  const known = memories([memory(3)], 0);
  expect(known.of(demo)).toBeUndefined();
  expect(known.able(demo)).toEqual([memory(3)]);
  known.put(memory(0));
  expect(known.of(demo)).toEqual(memory(0));
});

verifies('T3', 'a process that can be asked begins with what was listed to its like, or else to everybody', () => {
  const known = memories([memory(0), memory(3)], 3);
  expect([known.of(demo), known.able(demo)]).toEqual([memory(3), []]);
  expect(memories([memory(0), memory(1)], 3).of(demo)).toEqual(memory(0));
});

verifies('T3', 'the tools of a legacy server are remembered for each capability set apart', () => {
  const shared = memories([memory(0), memory(3)], 0);
  expect([0, 3, 1].map((capabilities) => shared.has(demo, capabilities))).toEqual([true, true, false]);
  expect(memories([{ ...memory(0), era: 'modern' }], 0).has(demo, 3)).toBe(true);
  const ofSoleUser = memories([memory(0)], 3);
  expect(ofSoleUser.has(demo, 0)).toBe(false);
  ofSoleUser.put(memory(3));
  expect(ofSoleUser.has(demo, 0)).toBe(true);
});

it('another command or address is another server', () => {
  const known = memories([memory(0, 'old'), memory(3, 'old')], 0);
  expect([known.of(demo), known.able(demo), known.of({ ...demo, name: 'other' })]).toEqual([undefined, [], undefined]);
});
