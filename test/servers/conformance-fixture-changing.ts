import { type Offer, said, text, tool } from './conformance-fixture.ts';
import { ASKING_TOOLS } from './conformance-fixture-asking.ts';
import { PROMPTS } from './conformance-fixture-reading.ts';
import { TOOLS } from './conformance-fixture-tools.ts';

export type List = 'tools' | 'prompts';

const ALWAYS: Readonly<Record<List, readonly Offer[]>> = { tools: [...TOOLS, ...ASKING_TOOLS], prompts: PROMPTS };
const SOMETIMES: Readonly<Record<List, Offer>> = {
  tools: tool('test_sometimes', 'Comes and goes.', {}, () => said('It is there.')),
  prompts: {
    definition: { name: 'test_sometimes', description: 'Comes and goes.' },
    run: () => ({ messages: [{ role: 'user', content: text('It is there.') }] }),
  },
};
const shown = new Set<List>();

/** What there is at this moment, the same for everybody. */
export const offered = (list: List): readonly Offer[] =>
  shown.has(list) ? [...ALWAYS[list], SOMETIMES[list]] : ALWAYS[list];

/** Makes a list other than it was: whoever says that it has changed must not be found to lie. */
export function change(list: List): void {
  if (!shown.delete(list)) shown.add(list);
}
