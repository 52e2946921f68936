import type { CatalogOptions } from '../catalog/live-catalog.ts';
import type { ServerPlan } from '../upstream/lifecycle/plan-server.ts';
import type { ServerCache } from '../upstream/lifecycle/server-cache.ts';

/** Returns the cached lists of these servers, for the catalog to begin with before any server is connected. */
export function rememberedOf(
  cache: ServerCache,
  plans: readonly ServerPlan[],
): Pick<CatalogOptions, 'remembered' | 'capabilityTools'> {
  // The lists of a server with per-user credentials belong to its callers.
  const shared = plans.filter(({ credentials }) => credentials !== 'user');
  return {
    remembered: shared.flatMap((plan) => {
      const lists = cache.lists(plan);
      return lists ? { server: plan.name, ...lists } : [];
    }),
    capabilityTools: shared
      .flatMap(cache.withCapabilities)
      .map(({ server, capabilitySet, lists: { tools } }) => ({ server, capabilitySet, tools })),
  };
}
