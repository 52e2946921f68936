import type { Catalog } from '../catalog/catalog.ts';
import { categoriesOf } from '../catalog/categories.ts';
import type { ExtensionMethods } from '../catalog/extensions/extension-methods.ts';
import { findIn } from '../catalog/find.ts';
import type { ServerInstructions } from '../catalog/join-instructions.ts';
import { type ListOptions, pageOf, startUnknownServers } from '../catalog/list.ts';
import type { Resolve } from '../catalog/resolve.ts';
import type { Caller, CatalogKind, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { ServerStatus } from '../core/records/server-status.ts';
import type { Decide } from '../govern/decide.ts';
import type { Heddle } from '../heddle.ts';

const PAGE_SIZE = 1000;
const MAX_HITS = 100;

/** Longest wait of a list for servers never seen. */
export const LIST_WAIT_MS = 2000;

const NAME_WAIT_MS = 10_000;

/** Returns the longest wait of a call whose name does not tell its server: a call may take longer than a list. */
export const nameWaitMs = (listWaitMs: number): number => (listWaitMs === 0 ? 0 : Math.max(listWaitMs, NAME_WAIT_MS));

/** Longest wait of a client's handshake for servers never seen, so that it declares the exact features of fast servers. */
const HELLO_WAIT_MS = 250;

interface View extends ListOptions {
  readonly rules: () => Decide;
  /** Returns the methods of extensions that server entries list. */
  readonly methods: () => ExtensionMethods;
  /** Default: 2 s. */
  readonly listWaitMs?: number;
}

/** Returns the lists, searches and descriptions of the catalog. */
export function browse({ firstListMs, ...view }: View, resolve: Resolve): Heddle['catalog'] {
  const { listWaitMs = LIST_WAIT_MS } = view;
  const patient = { ...view, firstListMs };
  const everything = (by: Caller) => pageOf(view, by, { limit: Number.POSITIVE_INFINITY }).items;
  const startServers = (by: Caller, signal = never()) => startUnknownServers(patient, by, listWaitMs, signal);

  return {
    async list(by, { waitMs, limit = PAGE_SIZE, signal = never(), ...query }) {
      const { server } = query;
      const waiting = waitMs === undefined ? patient : view;
      // A list of one server starts no other.
      const serverVisible = (caller: Caller, name: string) => name === server && view.serverVisible(caller, name);
      const narrowed = server === undefined ? waiting : { ...waiting, serverVisible };
      await startUnknownServers(narrowed, by, waitMs ?? listWaitMs, signal);
      return pageOf(view, by, { limit, ...query });
    },
    async describe(by, name, signal) {
      try {
        return await resolve({ kind: 'tool', name, caller: by, signal });
      } catch (thrown) {
        if (HeddleError.from(thrown).code !== 'NAME_UNKNOWN') throw thrown;
        // `resolve` has started the servers never seen, so their prompts and resources are known.
        const found = oneNamed(view.catalog.current(by), name, (target) => view.visible(by, target));
        if (!found) throw thrown;
        return found;
      }
    },
    async known(by, name) {
      const catalog = view.catalog.current(by);
      const visible = (target: Target) => view.visible(by, target);
      const found = findIn(catalog, { kind: 'tool', name }, visible) ?? oneNamed(catalog, name, visible);
      return found?.servers.every((server) => !view.servers.needsConnection(server, by)) ? found : undefined;
    },
    async search(by, { text, limit = MAX_HITS, signal }) {
      const { searchTargets } = await import('../catalog/search.ts');
      await startServers(by, signal);
      const spellings = (target: Target) => view.catalog.current(by).spellings(target);
      return searchTargets(everything(by), { text, limit: Math.min(limit, MAX_HITS), spellings });
    },
    async offers(by) {
      const [{ featuresOf }, { joinInstructions }] = await Promise.all([
        import('../catalog/features.ts'),
        import('../catalog/join-instructions.ts'),
      ]);
      await startUnknownServers(view, by, Math.min(listWaitMs, HELLO_WAIT_MS), never());
      const visible = view.servers.status().filter(({ name }) => view.serverVisible(by, name));
      const instructions = joinInstructions(instructionsFor(view, by, visible));
      return { ...featuresOf(visible, view.servers.extensionsOf), ...(instructions !== undefined && { instructions }) };
    },
    hasExtension: (id) => view.servers.hasExtension(id),
    hasMethod: (method) => view.methods().has(method),
    async hiddenBy(by, name) {
      const { hiddenBy } = await import('./hidden-by.ts');
      return hiddenBy(view, by, name);
    },
    async categories(by, signal) {
      await startServers(by, signal);
      return categoriesOf(everything(by));
    },
  };
}

/** Returns the instructions of servers. A server of whose entries the caller may see none is hidden, and has none. */
function instructionsFor(view: View, by: Caller, servers: readonly ServerStatus[]): readonly ServerInstructions[] {
  const found = servers.flatMap((status) => {
    const text = status.state === 'disabled' ? undefined : view.servers.instructionsOf(status.name, by);
    return text === undefined ? [] : [{ status, text }];
  });
  if (found.length === 0) return [];
  const entries = KINDS.flatMap((kind) => pageOf(view, by, { kind, limit: Number.POSITIVE_INFINITY }).items);
  const seen = new Set(entries.flatMap((target) => target.servers));
  const shown = found.filter(({ status }) => !hasEntries(status) || seen.has(status.name));
  return shown.map(({ status, text }) => ({ server: status.name, text }));
}

const KINDS: readonly CatalogKind[] = ['tool', 'resource', 'template', 'prompt'];

const hasEntries = ({ tools = 0, resources = 0, templates = 0, prompts = 0 }: ServerStatus): boolean =>
  tools + resources + templates + prompts > 0;

const never = (): AbortSignal => new AbortController().signal;

/** Finds the prompt, template or resource of this name. Throws NAME_AMBIGUOUS. */
function oneNamed(catalog: Catalog, name: string, visible: (target: Target) => boolean): Target | undefined {
  const found = othersNamed(catalog, name, visible);
  if (found.length > 1) throw ambiguous(name, found);
  return found[0];
}

/** Finds prompts of this name; else templates or resources of this URI; else the template that matches the URI. */
function othersNamed(catalog: Catalog, name: string, visible: (target: Target) => boolean): readonly Target[] {
  const prompt = findIn(catalog, { kind: 'prompt', name }, visible);
  if (prompt) return [prompt];
  const named = catalog.resources.named(name).filter(visible);
  if (named.length > 0) return named;
  const read = findIn(catalog, { kind: 'resource', name }, visible);
  return read ? [read] : [];
}

function ambiguous(name: string, found: readonly Target[]): HeddleError {
  const candidates = found.map(({ publicName }) => publicName);
  return new HeddleError('NAME_AMBIGUOUS', `${name} is ambiguous: ${candidates.join(', ')}.`, {
    fix: `Use one of these names, for example ${candidates[0]}.`,
    details: { candidates },
  });
}
