import type { Catalog } from '../catalog/catalog.ts';
import { categoriesOf } from '../catalog/categories.ts';
import { findIn } from '../catalog/find.ts';
import { type ListOptions, pageOf, startUnknownServers } from '../catalog/list.ts';
import type { Resolve } from '../catalog/resolve.ts';
import type { Caller, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { Decide } from '../govern/decide.ts';
import type { Heddle } from '../heddle.ts';

const PAGE_SIZE = 1000;
const MAX_HITS = 100;

/** How long a list waits for servers that were never seen. */
export const LIST_WAIT_MS = 2000;

/** How long the handshake of a client waits, so that quick servers say exactly what they have. */
const HELLO_WAIT_MS = 250;

interface View extends ListOptions {
  readonly rules: () => Decide;
  /** 2 s unless given. */
  readonly listWaitMs?: number;
}

/** What there is to call, for those who look before they call. */
export function browse(view: View, resolve: Resolve): Heddle['catalog'] {
  const { listWaitMs = LIST_WAIT_MS } = view;
  const everything = (by: Caller) => pageOf(view, by, { limit: Number.POSITIVE_INFINITY }).items;
  const learn = (by: Caller) => startUnknownServers(view, by, listWaitMs, new AbortController().signal);

  return {
    async list(by, { waitMs = listWaitMs, limit = PAGE_SIZE, ...query }) {
      const { server } = query;
      // Nobody else has to be started for the tools of one.
      const serverVisible = (caller: Caller, name: string) => name === server && view.serverVisible(caller, name);
      const narrowed = server === undefined ? view : { ...view, serverVisible };
      await startUnknownServers(narrowed, by, waitMs, new AbortController().signal);
      return pageOf(view, by, { limit, ...query });
    },
    async describe(by, name, signal) {
      try {
        return await resolve({ kind: 'tool', name, caller: by, signal });
      } catch (thrown) {
        if (HeddleError.from(thrown).code !== 'NAME_UNKNOWN') throw thrown;
        // Looking for a tool has made known whatever else there is.
        const found = othersNamed(view.catalog.current(by), name, (target) => view.visible(by, target));
        if (found.length === 0) throw thrown;
        if (found.length > 1) throw ambiguous(name, found);
        return found[0] as Target;
      }
    },
    async search(by, { text, limit = MAX_HITS }) {
      const { searchTargets } = await import('../catalog/search.ts');
      await learn(by);
      const spellings = (target: Target) => view.catalog.current(by).spellings(target);
      return searchTargets(everything(by), { text, limit: Math.min(limit, MAX_HITS), spellings });
    },
    async offers(by) {
      const { featuresOf } = await import('../catalog/features.ts');
      await startUnknownServers(view, by, Math.min(listWaitMs, HELLO_WAIT_MS), new AbortController().signal);
      return featuresOf(view.servers.status().filter(({ name }) => view.serverVisible(by, name)));
    },
    async hiddenBy(by, name) {
      const { hiddenBy } = await import('./hidden-by.ts');
      return hiddenBy(view, by, name);
    },
    async categories(by) {
      await learn(by);
      return categoriesOf(everything(by));
    },
  };
}

/** Prompts of this name; else templates of this text, or resources of this URI; else what would be read there. */
function othersNamed(catalog: Catalog, name: string, visible: (target: Target) => boolean): readonly Target[] {
  const { prompts, resources } = catalog;
  const exact = prompts.find(name);
  const called = (exact ? [exact] : prompts.called(name)).filter(visible);
  if (called.length > 0) return called;
  const named = resources.named(name).filter(visible);
  if (named.length > 0) return named;
  const read = findIn(catalog, { kind: 'resource', name }, visible);
  return read ? [read] : [];
}

function ambiguous(name: string, found: readonly Target[]): HeddleError {
  const candidates = found.map(({ publicName }) => publicName);
  return new HeddleError('NAME_AMBIGUOUS', `${name} may be any of ${candidates.join(', ')}.`, {
    fix: `Write one of them, for example ${candidates[0]}.`,
    details: { candidates },
  });
}
