import { createHash } from 'node:crypto';
import type { JsonObject, Target } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { isOrAre } from '../../core/text/counted.ts';
import { bySpecificity, parseUriTemplate, type UriTemplate } from '../../core/text/uri-template.ts';
import type { Resources } from '../catalog.ts';
import { isUnprintable } from './confusable.ts';
import { type Owner, readingFacts } from './facts.ts';
import { limitList } from './limit-list.ts';
import { ownUri, serverAndUri } from './own-uri.ts';
import { oneOf } from './server-tools.ts';

/** A resource or template of one server. The entry and its target are kept until the server changes them. */
export interface ResourceEntry {
  readonly server: string;
  /** The URI or URI template as the server sent it. */
  readonly text: string;
  readonly template: UriTemplate | undefined;
  /** Returns the target, the same object for the same name. */
  as(publicName: string): Target;
}

/** The resources, or the templates, of one server. */
export interface ServerResources {
  readonly kind: 'resource' | 'template';
  readonly server: string;
  readonly entries: readonly ResourceEntry[];
  readonly problems: readonly string[];
  /** Returns a target for a URI that the server does not list. */
  unlisted(uri: string, publicName: string): Target;
}

/** The longest URI that is accepted. */
export const MAX_URI_CHARS = 8192;
// Each template may have to be tried for an unlisted URI.
const MAX_TEMPLATES = 500;
const MAX_VARIABLES = 500;
const UNPRINTABLE: readonly string[] = ['unprintable'];
const NO_FLAGS: readonly string[] = [];

export interface Listed {
  readonly kind: ServerResources['kind'];
  readonly server: string;
  readonly definitions: readonly JsonObject[];
}

/** Builds the resources or templates of one server's list. */
export function serverResourcesOf({ kind, server, definitions }: Listed, owner: Owner): ServerResources {
  const facts = readingFacts(owner);
  const key = kind === 'template' ? 'uriTemplate' : 'uri';
  const byText = Map.groupBy(definitions, (one) => String(one[key]));
  const limit = kind === 'template' ? { what: 'templates', max: MAX_TEMPLATES } : { what: 'resources' };
  const { items, problems } = limitList(byText, { server, ...limit });
  const make = (made: Pick<Target, 'kind' | 'publicName' | 'name' | 'definition' | 'invalid'>) =>
    toTarget({ ...made, servers: [server], facts, flags: isUnprintable(made.name) ? UNPRINTABLE : NO_FLAGS });

  const all = items.map(([text, same]): ResourceEntry => {
    const [definition] = oneOf(same);
    const template = kind === 'template' ? parseUriTemplate(text) : undefined;
    const invalid = findProblem(kind, text, template);
    let last: Target | undefined;
    return {
      server,
      text,
      template,
      as(publicName) {
        if (last?.publicName !== publicName) last = make({ kind, publicName, name: text, definition, invalid });
        return last;
      },
    };
  });
  const entries = kind === 'template' ? withinVariableLimit(all) : all;
  const left = all.length - entries.length;
  const tooMuch = `${server} lists templates with more than ${MAX_VARIABLES} variables; the last ${left} ${isOrAre(left)} not used.`;
  return {
    kind,
    server,
    entries,
    problems: left > 0 ? [...problems, tooMuch] : problems,
    unlisted: (uri, publicName) =>
      make({ kind: 'resource', publicName, name: uri, definition: { uri, name: uri }, invalid: undefined }),
  };
}

/** Returns the first templates by text that have at most 500 variables together, since each is tried for an unlisted URI. */
function withinVariableLimit(all: readonly ResourceEntry[]): readonly ResourceEntry[] {
  let variables = 0;
  const ordered = [...all].sort((a, b) => (a.text < b.text ? -1 : 1));
  const end = ordered.findIndex(({ template }) => {
    variables += template?.variables ?? 0;
    return variables > MAX_VARIABLES;
  });
  return end === -1 ? all : ordered.slice(0, end);
}

function findProblem(
  kind: ServerResources['kind'],
  text: string,
  template: UriTemplate | undefined,
): string | undefined {
  if (text === '') return 'it has no URI';
  if (text.length > MAX_URI_CHARS) return `its URI is longer than ${MAX_URI_CHARS} characters`;
  return kind === 'template' && !template ? 'its template cannot be read' : undefined;
}

function toTarget(target: Omit<Target, 'digest'>): Target {
  let digest: string | undefined;
  return {
    ...target,
    get digest() {
      digest ??= createHash('sha256').update(canonicalJson(target.definition)).digest('hex');
      return digest;
    },
  };
}

/**
 * Merges the lists of all servers. A URI of one server keeps its name. A URI of several servers is named
 * `heddle://<server>/<uri>`.
 */
export function buildResources(lists: readonly ServerResources[]): Resources {
  const resources = nameApart(lists.filter(({ kind }) => kind === 'resource'));
  const templates = nameApart(lists.filter(({ kind }) => kind === 'template'));
  const readable = templates.all.filter(({ entry }) => entry.template !== undefined).sort(bySpecificityAndServer);
  const matching = [...Map.groupBy(readable, ({ entry }) => entry.text).values()];

  function* meanings(uri: string): Generator<readonly Target[]> {
    const own = serverAndUri(uri);
    if ((own?.uri ?? uri).length > MAX_URI_CHARS) return;
    if (own) yield* meaningsAt(own.server, own.uri, uri);
    else {
      yield resources.at(uri).map(({ target }) => target);
      yield* made(uri, uri, { matching });
    }
  }

  function* meaningsAt(server: string, uri: string, publicName: string): Generator<readonly Target[]> {
    const here = ({ entry }: Named) => entry.server === server;
    yield resources
      .at(uri)
      .filter(here)
      .map(({ target }) => target);
    yield* made(uri, publicName, { matching: matching.map((same) => same.filter(here)) });
    // Servers need not list all resources. A URI that names its server is read there even if it is unlisted.
    const list = lists.find((one) => one.server === server && one.entries.length > 0);
    if (list) yield [list.unlisted(uri, publicName)];
  }

  return {
    targets: resources.all.map(({ target }) => target).sort(byName),
    templates: templates.all.map(({ target }) => target).sort(byName),
    problems: lists.flatMap(({ problems }) => problems),
    meanings,
    *meaningsWithSlashes(uri) {
      if (uri.length > MAX_URI_CHARS || serverAndUri(uri)) return; // A server that the URI names is asked anyway.
      yield* made(uri, uri, { matching, match: 'matchesWithSlashes' });
    },
    named(text) {
      const { server, uri } = serverAndUri(text) ?? { server: undefined, uri: text };
      const found = templates.at(uri).length > 0 ? templates.at(uri) : resources.at(uri);
      return found.flatMap(({ entry, target }) => (server === undefined || entry.server === server ? target : []));
    },
  };
}

interface Named {
  readonly entry: ResourceEntry;
  readonly target: Target;
}

/** Names the entries. Those with the same text get their server's name in the URI. */
function nameApart(lists: readonly ServerResources[]): { all: Named[]; at(text: string): readonly Named[] } {
  const byText = Map.groupBy(
    lists.flatMap(({ entries }) => entries),
    ({ text }) => text,
  );
  const named = new Map<string, readonly Named[]>();
  for (const [text, same] of byText) {
    // A URI that begins with heddle:// could imitate that of another server.
    const apart = same.length > 1 || serverAndUri(text) !== undefined;
    named.set(
      text,
      same.map((entry) => ({ entry, target: entry.as(apart ? ownUri(entry.server, text) : text) })),
    );
  }
  return { all: [...named.values()].flat(), at: (text) => named.get(text) ?? [] };
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
  toTarget({ ...template, kind: 'resource', publicName, name: uri });

const bySpecificityAndServer = ({ entry: one }: Named, { entry: other }: Named) =>
  bySpecificity(one.template as UriTemplate, other.template as UriTemplate) || (one.server < other.server ? -1 : 1);

const byName = (a: Target, b: Target) => (a.publicName < b.publicName ? -1 : 1);
