import { type Entry, text, textResult, tool } from './conformance-fixture.ts';
import { INPUT_TOOLS } from './conformance-fixture-input.ts';
import { PROMPTS } from './conformance-fixture-resources.ts';
import { TOOLS } from './conformance-fixture-tools.ts';

export type List = 'tools' | 'prompts';

const ALWAYS: Readonly<Record<List, readonly Entry[]>> = { tools: [...TOOLS, ...INPUT_TOOLS], prompts: PROMPTS };
const SOMETIMES: Readonly<Record<List, Entry>> = {
  tools: tool('test_sometimes', 'Is listed at times.', {}, () => textResult('The entry is listed.')),
  prompts: {
    definition: { name: 'test_sometimes', description: 'Is listed at times.' },
    run: () => ({ messages: [{ role: 'user', content: text('The entry is listed.') }] }),
  },
};
const extended = new Set<List>();

/** Returns the entries of a list. All clients see the same. */
export const currentEntries = (list: List): readonly Entry[] =>
  extended.has(list) ? [...ALWAYS[list], SOMETIMES[list]] : ALWAYS[list];

/** Adds or removes one entry, so that a list_changed notification is true. */
export function toggleEntry(list: List): void {
  if (!extended.delete(list)) extended.add(list);
}
