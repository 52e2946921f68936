import type { JsonObject } from '../core/call.ts';
import { type Owner, readingFacts } from './facts.ts';
import { makeOffer, type Offer } from './offer.ts';
import { oneOf } from './part.ts';

/** The prompts of one server, named like its tools. */
export function promptOffers(server: string, definitions: readonly JsonObject[], owner: Owner): readonly Offer[] {
  const facts = readingFacts(owner);
  return [...Map.groupBy(definitions, ({ name }) => String(name))].map(([name, same]) => {
    const [definition, contradicted] = oneOf(same);
    const tool = {
      kind: 'prompt',
      name,
      shownAs: name,
      definition,
      facts,
      contradicted,
      standsFor: undefined,
    } as const;
    return makeOffer({ group: server, servers: [server], tool });
  });
}
