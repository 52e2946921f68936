import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { ServerStatus } from '../core/server-status.ts';

/** What servers have beside tools. */
export interface Offers {
  readonly resources: boolean;
  readonly subscribe: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
}

const NOTHING: Offers = { resources: false, subscribe: false, prompts: false, completions: false };
const ANYTHING: Offers = { resources: true, subscribe: true, prompts: true, completions: true };

/** What some of these servers have, or may have as far as is known. */
export function offersOf(servers: readonly ServerStatus[]): Offers {
  const all = servers.map(offersOfOne);
  const some = (what: keyof Offers) => all.some((offers) => offers[what]);
  return {
    resources: some('resources'),
    subscribe: some('subscribe'),
    prompts: some('prompts'),
    completions: some('completions'),
  };
}

function offersOfOne(status: ServerStatus): Offers {
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

const offersIn = ({ resources, prompts, completions }: JsonObject): Offers => ({
  resources: isObject(resources),
  subscribe: isObject(resources) && resources.subscribe === true,
  prompts: isObject(prompts),
  completions: isObject(completions),
});
