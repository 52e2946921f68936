import type { CatalogOptions } from '../catalog/live-catalog.ts';
import type { ServerMemory } from '../store/server-book.ts';
import type { ServerPlan } from '../upstream/lifecycle/plan-server.ts';
import { memories } from '../upstream/lifecycle/server-memory.ts';

/** What the catalog knows of servers before they are started; `abilities`: what the user of this process can be asked. */
export function rememberedOf(
  saved: readonly ServerMemory[],
  plans: readonly ServerPlan[],
  abilities: number,
): Pick<CatalogOptions, 'remembered' | 'rememberedAble'> {
  const known = memories(saved, abilities);
  return {
    remembered: plans.flatMap((plan) => known.of(plan) ?? []).map(({ server, lists }) => ({ server, ...lists })),
    rememberedAble: plans.flatMap(known.able).map(({ lists: { tools }, ...rest }) => ({ ...rest, tools })),
  };
}
