import type { Target } from '../../core/call.ts';
import { bySpecificity, type UriTemplate } from '../../core/text/uri-template.ts';
import { isViewUri } from '../../core/text/view-uri.ts';
import type { Resources } from '../catalog.ts';
import { ownUri, serverAndUri } from '../views/own-uri.ts';
import { nameViews, type ViewNames } from '../views/view-names.ts';
import { MAX_URI_CHARS, type ResourceEntry, type ServerResources, withDigest } from './server-resources.ts';

/** The `ui://` URIs of all servers: their names, and the targets of those that no server lists. */
export interface Views {
  readonly names: ViewNames;
  readonly unlisted: readonly Target[];
}

/**
 * Merges the lists of all servers. A URI of one server keeps its name. A URI of several servers is named
 * `heddle://<server>/<uri>`, or `ui://<server>/…` if it begins with `ui://`.
 */
export function buildResources(lists: readonly ServerResources[], views: Partial<Views> = {}): Resources {
  const { names = nameViews(lists, () => false), unlisted = [] } = views;
  const ofKind = (wanted: ServerResources['kind']) => lists.filter(({ kind }) => kind === wanted);
  const resources = nameApart(ofKind('resource'), names);
  const templates = nameApart(ofKind('template'), names);
  return {
    targets: resources.all.map(({ target }) => target).sort(byName),
    templates: templates.all.map(({ target }) => target).sort(byName),
    problems: lists.flatMap(({ problems }) => problems),
    lists: (server, uri) => resources.at(uri).some(({ entry }) => entry.server === server),
    nameOf(server, uri) {
      if (isViewUri(uri)) return names.nameOf(server, uri);
      return serverAndUri(uri) ? ownUri(server, uri) : uri;
    },
    ...meaningsOf({ lists, resources, templates, views: { names, unlisted } }),
  };
}

/** Names the entries. Those with the same text get their server's name in the URI. */
function nameApart(lists: readonly ServerResources[], views: ViewNames): NamedEntries {
  const byText = Map.groupBy(
    lists.flatMap(({ entries }) => entries),
    ({ text }) => text,
  );
  const named = new Map<string, readonly Named[]>();
  for (const [text, same] of byText) {
    // A URI that begins with heddle:// could imitate that of another server.
    const apart = same.length > 1 || serverAndUri(text) !== undefined;
    const nameAt = (server: string) => (apart ? ownUri(server, text) : text);
    const nameOf = isViewUri(text) ? (server: string) => views.nameOf(server, text) : nameAt;
    named.set(
      text,
      same.map((entry) => ({ entry, target: entry.as(nameOf(entry.server)) })),
    );
  }
  return { all: [...named.values()].flat(), at: (text) => named.get(text) ?? [] };
}

const byName = (a: Target, b: Target) => (a.publicName < b.publicName ? -1 : 1);

/** An entry and its target under its public name. */
interface Named {
  readonly entry: ResourceEntry;
  readonly target: Target;
}

/** The named resources, or templates, of all servers. */
interface NamedEntries {
  readonly all: readonly Named[];
  /** Returns the entries with this text. */
  at(text: string): readonly Named[];
}

interface MeaningsOptions {
  readonly lists: readonly ServerResources[];
  readonly resources: NamedEntries;
  readonly templates: NamedEntries;
  readonly views: Views;
}

type Meanings = Pick<Resources, 'meanings' | 'meaningsWithSlashes' | 'named'>;
type Split = NonNullable<ReturnType<ViewNames['split']>>;

/** Builds the lookups by URI. */
function meaningsOf({ lists, resources, templates, views: { names, unlisted } }: MeaningsOptions): Meanings {
  const readable = templates.all.filter(({ entry }) => entry.template !== undefined).sort(bySpecificityAndServer);
  const matching = [...Map.groupBy(readable, ({ entry }) => entry.text).values()];
  const namedByTools = Map.groupBy(unlisted, ({ name }) => name);

  /** Returns the targets with a URI of their servers: those that servers list, and those that tools name. */
  function at(uri: string): readonly Target[] {
    const listed = resources.at(uri).map(({ target }) => target);
    const named = namedByTools.get(uri);
    return named ? [...listed, ...named] : listed;
  }

  const isAt = (server: string) => (target: Target) => target.servers[0] === server;
  const matchingAt = (server: string) => matching.map((same) => same.filter(({ entry }) => entry.server === server));

  function* meanings(uri: string): Generator<readonly Target[]> {
    const own = serverAndUri(uri);
    if ((own?.uri ?? uri).length > MAX_URI_CHARS) return;
    const view = names.split(uri);
    if (own) yield* meaningsAt(own.server, own.uri, uri);
    else if (view) yield* meaningsOfView(uri, view);
    else {
      yield at(uri);
      yield* made(uri, uri, { matching });
    }
  }

  function* meaningsAt(server: string, uri: string, publicName: string): Generator<readonly Target[]> {
    const found = at(uri).filter(isAt(server));
    yield found;
    yield* made(uri, publicName, { matching: matchingAt(server) });
    // Servers need not list all resources. A URI that names its server is read there even if it is unlisted, unless only
    // tools name it: the caller may see none of them.
    const list = lists.find((one) => one.server === server && one.entries.length > 0);
    if (list && found.length === 0) yield [list.unlisted(uri, publicName)];
  }

  /** Yields the targets of a `ui://` URI that begins with the name of a server. No other server has any. */
  function* meaningsOfView(name: string, { server, uri }: Split): Generator<readonly Target[]> {
    const plain = at(name).filter(isAt(server));
    const named = at(uri).filter(isAt(server));
    const exact = named.filter(({ publicName }) => publicName === name);
    yield exact.length > 0 ? exact : plain.length > 0 ? plain : named;
    for (const one of [name, uri]) yield* made(one, name, { matching: matchingAt(server) });
  }

  return {
    meanings,
    *meaningsWithSlashes(uri) {
      if (uri.length > MAX_URI_CHARS || serverAndUri(uri)) return; // A server that the URI names is asked anyway.
      const view = names.split(uri);
      const spellings = view ? [uri, view.uri] : [uri];
      const among = view ? matchingAt(view.server) : matching;
      for (const one of spellings) yield* made(one, uri, { matching: among, match: 'matchesWithSlashes' });
    },
    named(text) {
      const own = serverAndUri(text);
      const view = names.split(text);
      const server = (own ?? view)?.server;
      const uris = view ? [text, view.uri] : [own?.uri ?? text];
      const isOfServer = ({ entry }: Named) => server === undefined || entry.server === server;
      const [found = []] = [templates, resources]
        .flatMap((index) => uris.map((uri) => index.at(uri).filter(isOfServer)))
        .filter(({ length }) => length > 0);
      return found.map(({ target }) => target);
    },
  };
}

/** Templates to try, those with the same text together. */
interface Matching {
  readonly matching: readonly (readonly Named[])[];
  readonly match?: 'matches' | 'matchesWithSlashes';
}

/** Returns the targets of the templates that match a URI, the most specific first; equal templates are one group. */
function* made(
  uri: string,
  publicName: string,
  { matching, match = 'matches' }: Matching,
): Generator<readonly Target[]> {
  for (const same of matching) {
    if (same[0]?.entry.template?.[match](uri)) yield same.map(({ target }) => readThrough(target, uri, publicName));
  }
}

/** Returns the resource that a template gives at this URI. */
const readThrough = (template: Target, uri: string, publicName: string): Target =>
  withDigest({ ...template, kind: 'resource', publicName, name: uri });

const bySpecificityAndServer = ({ entry: one }: Named, { entry: other }: Named) =>
  bySpecificity(one.template as UriTemplate, other.template as UriTemplate) || (one.server < other.server ? -1 : 1);
