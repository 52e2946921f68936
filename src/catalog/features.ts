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
const ANYTHING: CatalogFeatures = { resources: true, subscribe: true, prompts: true, completions: true };

/** What some of these servers have, or may have as far as is known. */
export function featuresOf(servers: readonly ServerStatus[]): CatalogFeatures {
  const all = servers.map(offersOfOne);
  const some = (what: keyof CatalogFeatures) => all.some((offers) => offers[what]);
  return {
    resources: some('resources'),
    subscribe: some('subscribe'),
    prompts: some('prompts'),
    completions: some('completions'),
  };
}

function offersOfOne(status: ServerStatus): CatalogFeatures {
  const { state, info, tools, resources = 0, templates = 0, prompts = 0 } = status;
  if (state === 'connected') return offersIn(isObject(info?.capabilities) ? info.capabilities : {});
  if (state === 'disabled') return NOTHING;
  // Never seen: as long as it may still come, nobody knows. A client asks what it can ask for only once.
  if (tools === undefined) return state === 'pending' ? ANYTHING : NOTHING;
  const hasResources = resources + templates > 0;
  return {
    resources: hasResources,
    subscribe: hasResources,
    prompts: prompts > 0,
    completions: prompts + templates > 0,
  };
}

const offersIn = ({ resources, prompts, completions }: JsonObject): CatalogFeatures => ({
  resources: isObject(resources),
  subscribe: isObject(resources) && resources.subscribe === true,
  prompts: isObject(prompts),
  completions: isObject(completions),
});
