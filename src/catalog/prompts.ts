import type { JsonObject } from '../core/call.ts';
import { type Owner, readingFacts } from './facts.ts';
import { listed } from './listed.ts';
import { makeOffer, type Offer } from './offer.ts';
import { oneOf } from './part.ts';

/** The prompts of one server. */
export interface Prompts {
  /** Named like its tools. */
  readonly offers: readonly Offer[];
  /** What of the server's list could not be taken as it is. */
  readonly problems: readonly string[];
}

export function promptOffers(server: string, definitions: readonly JsonObject[], owner: Owner): Prompts {
  const facts = readingFacts(owner);
  const byName = Map.groupBy(definitions, ({ name }) => String(name));
  const { items, problems } = listed(byName, { server, what: 'prompts' });
  const offers = items.map(([name, same]) => {
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
  return { offers, problems };
}
