import type { Extensions, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Features } from '../core/records/listing.ts';
import type { ServerStatus } from '../core/records/server-status.ts';

// Heddle has no `skills/list`, so it does not declare the extension.
const UNSERVED = 'io.modelcontextprotocol/skills';

type Feature = Exclude<keyof Features, 'extensions' | 'instructions'>;

const NONE: Record<Feature, boolean> = { resources: false, subscribe: false, prompts: false, completions: false };

/**
 * Returns the features that at least one of these servers has, or may have if it is not connected yet. Extensions are
 * those of the last handshakes.
 */
export function featuresOf(
  servers: readonly ServerStatus[],
  extensionsOf: (server: string) => Extensions | undefined,
): Omit<Features, 'instructions'> {
  const enabled = servers.filter(({ state }) => state !== 'disabled').map(({ name }) => name);
  const extensions = merged(enabled.sort(), extensionsOf);
  const all = servers.map(featuresOfServer);
  const some = (feature: Feature) => all.some((features) => features[feature]);
  return {
    resources: some('resources'),
    subscribe: some('subscribe'),
    prompts: some('prompts'),
    completions: some('completions'),
    ...(extensions && { extensions }),
  };
}

/** Merges the settings of each extension key by key. The first server by name decides a key that several set. */
function merged(
  servers: readonly string[],
  extensionsOf: (server: string) => Extensions | undefined,
): Extensions | undefined {
  const found = new Map<string, JsonObject>();
  for (const server of servers) {
    for (const [id, settings] of Object.entries(extensionsOf(server) ?? {})) {
      if (id === UNSERVED) continue;
      found.set(id, { ...settings, ...found.get(id) });
    }
  }
  return found.size === 0 ? undefined : Object.fromEntries(found);
}

function featuresOfServer(status: ServerStatus): Record<Feature, boolean> {
  const { state, info, resources, templates, prompts } = status;
  if (state === 'connected') return fromCapabilities(isObject(info?.capabilities) ? info.capabilities : {});
  if (state === 'disabled') return NONE;
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

const fromCapabilities = ({ resources, prompts, completions }: JsonObject): Record<Feature, boolean> => ({
  resources: isObject(resources),
  subscribe: isObject(resources) && resources.subscribe === true,
  prompts: isObject(prompts),
  completions: isObject(completions),
});
