import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { ServerStatus } from '../core/records/server-status.ts';

/** What servers have beside tools. */
export interface CatalogFeatures {
  readonly resources: boolean;
  readonly subscribe: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
}

const NOTHING: CatalogFeatures = { resources: false, subscribe: false, prompts: false, completions: false };

/** What some of these servers have, or may have as far as is known. */
export function featuresOf(servers: readonly ServerStatus[]): CatalogFeatures {
  const all = servers.map(featuresOfOne);
  const some = (what: keyof CatalogFeatures) => all.some((features) => features[what]);
  return {
    resources: some('resources'),
    subscribe: some('subscribe'),
    prompts: some('prompts'),
    completions: some('completions'),
  };
}

function featuresOfOne(status: ServerStatus): CatalogFeatures {
  const { state, info, resources, templates, prompts } = status;
  if (state === 'connected') return featuresIn(isObject(info?.capabilities) ? info.capabilities : {});
  if (state === 'disabled') return NOTHING;
  // A list that has not arrived may hold something. A client reads the capabilities only once.
  const mayHave = (count: number | undefined) => (count === undefined ? state === 'pending' : count > 0);
  const hasResources = mayHave(resources) || mayHave(templates);
  return {
    resources: hasResources,
    subscribe: hasResources,
    prompts: mayHave(prompts),
    completions: mayHave(prompts) || mayHave(templates),
  };
}

const featuresIn = ({ resources, prompts, completions }: JsonObject): CatalogFeatures => ({
  resources: isObject(resources),
  subscribe: isObject(resources) && resources.subscribe === true,
  prompts: isObject(prompts),
  completions: isObject(completions),
});
