import { createHash } from 'node:crypto';
import type { JsonObject, Target } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { bySpecificity, parseUriTemplate, type UriTemplate } from '../../core/text/uri-template.ts';
import type { Resources } from '../catalog.ts';
import { isUnprintable } from './confusable.ts';
import { type Owner, readingFacts } from './facts.ts';
import { limitList } from './limit-list.ts';
import { ownUri, serverAndUri } from './own-uri.ts';
import { oneOf } from './server-tools.ts';

/** A resource or a template of one server. Kept as long as the server does not change it, and its target with it. */
export interface ResourceEntry {
  readonly server: string;
  /** The URI, or the template, as the server writes it. */
  readonly text: string;
  readonly template: UriTemplate | undefined;
  /** The same object for the same name. */
  as(publicName: string): Target;
}

/** The resources, or the templates, of one server. */
export interface ServerResources {
  readonly kind: 'resource' | 'template';
  readonly server: string;
  readonly entries: readonly ResourceEntry[];
  readonly problems: readonly string[];
  /** What is at a URI that the server does not list. */
  unlisted(uri: string, asked: string): Target;
}

/** No resource has a longer URI. */
export const MAX_URI_CHARS = 8192;
// Each may have to be tried for a URI that nobody lists.
const MAX_TEMPLATES = 500;
const MAX_VARIABLES = 500;
const UNPRINTABLE: readonly string[] = ['unprintable'];
const NO_FLAGS: readonly string[] = [];

export interface Listed {
  readonly kind: ServerResources['kind'];
  readonly server: string;
  readonly definitions: readonly JsonObject[];
}

/** Takes a list of a server as it wrote it. */
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
    const invalid = complaint(kind, text, template);
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
  const holdings = kind === 'template' ? affordable(all) : all;
  const left = all.length - holdings.length;
  const tooMuch = `${server} lists templates with more than ${MAX_VARIABLES} variables; the last ${left} are not used.`;
  return {
    kind,
    server,
    entries: holdings,
    problems: left > 0 ? [...problems, tooMuch] : problems,
    unlisted: (uri, publicName) =>
      make({ kind: 'resource', publicName, name: uri, definition: { uri, name: uri }, invalid: undefined }),
  };
}

/** Each variable is tried for a URI that nobody lists: the first by text that have no more than make sense. */
function affordable(all: readonly ResourceEntry[]): readonly ResourceEntry[] {
  let variables = 0;
  const ordered = [...all].sort((a, b) => (a.text < b.text ? -1 : 1));
  const end = ordered.findIndex(({ template }) => {
    variables += template?.variables ?? 0;
    return variables > MAX_VARIABLES;
  });
  return end === -1 ? all : ordered.slice(0, end);
}

function complaint(kind: ServerResources['kind'], text: string, template: UriTemplate | undefined): string | undefined {
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
 * Puts the lists of all servers together. A URI stays as it is as long as only
 * one server has it; those of several are each said with their server's name.
 */
export function buildResources(lists: readonly ServerResources[]): Resources {
  const resources = nameApart(lists.filter(({ kind }) => kind === 'resource'));
  const templates = nameApart(lists.filter(({ kind }) => kind === 'template'));
  const readable = templates.all.filter(({ holding }) => holding.template !== undefined).sort(inTurn);
  const matching = [...Map.groupBy(readable, ({ holding }) => holding.text).values()];

  function* meanings(uri: string): Generator<readonly Target[]> {
    const own = serverAndUri(uri);
    if ((own?.uri ?? uri).length > MAX_URI_CHARS) return;
    if (own) yield* meaningsAt(own.server, own.uri, uri);
    else {
      yield resources.at(uri).map(({ target }) => target);
      yield* made(uri, uri, matching);
    }
  }

  function* meaningsAt(server: string, uri: string, asked: string): Generator<readonly Target[]> {
    const here = ({ holding }: Named) => holding.server === server;
    yield resources
      .at(uri)
      .filter(here)
      .map(({ target }) => target);
    yield* made(
      uri,
      asked,
      matching.map((same) => same.filter(here)),
    );
    // Servers need not list what they have, and tools point at it: whoever names the server is not guessing.
    const list = lists.find((one) => one.server === server && one.entries.length > 0);
    if (list) yield [list.unlisted(uri, asked)];
  }

  return {
    targets: resources.all.map(({ target }) => target).sort(byName),
    templates: templates.all.map(({ target }) => target).sort(byName),
    problems: lists.flatMap(({ problems }) => problems),
    meanings,
    named(text) {
      const { server, uri } = serverAndUri(text) ?? { server: undefined, uri: text };
      const found = templates.at(uri).length > 0 ? templates.at(uri) : resources.at(uri);
      return found.flatMap(({ holding, target }) => (server === undefined || holding.server === server ? target : []));
    },
  };
}

interface Named {
  readonly holding: ResourceEntry;
  readonly target: Target;
}

/** Those that have a text in common, under names that tell them apart. */
function nameApart(lists: readonly ServerResources[]): { all: Named[]; at(text: string): readonly Named[] } {
  const byText = Map.groupBy(
    lists.flatMap(({ entries }) => entries),
    ({ text }) => text,
  );
  const named = new Map<string, readonly Named[]>();
  for (const [text, same] of byText) {
    // What looks like one of ours could be taken for another server's.
    const apart = same.length > 1 || serverAndUri(text) !== undefined;
    named.set(
      text,
      same.map((holding) => ({ holding, target: holding.as(apart ? ownUri(holding.server, text) : text) })),
    );
  }
  return { all: [...named.values()].flat(), at: (text) => named.get(text) ?? [] };
}

/** What the templates make of a URI, the most telling first; the same template of several servers together. */
function* made(uri: string, asked: string, matching: readonly (readonly Named[])[]): Generator<readonly Target[]> {
  for (const same of matching) {
    if (same[0]?.holding.template?.matches(uri)) yield same.map(({ target }) => readThrough(target, uri, asked));
  }
}

/** The resource that a template stands for at this URI. */
const readThrough = (template: Target, uri: string, asked: string): Target =>
  toTarget({ ...template, kind: 'resource', publicName: asked, name: uri });

const inTurn = ({ holding: one }: Named, { holding: other }: Named) =>
  bySpecificity(one.template as UriTemplate, other.template as UriTemplate) || (one.server < other.server ? -1 : 1);

const byName = (a: Target, b: Target) => (a.publicName < b.publicName ? -1 : 1);
