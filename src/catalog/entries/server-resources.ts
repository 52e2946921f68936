import { createHash } from 'node:crypto';
import type { JsonObject, Target } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { isOrAre } from '../../core/text/counted.ts';
import { parseUriTemplate, type UriTemplate } from '../../core/text/uri-template.ts';
import { isViewUri } from '../../core/text/view-uri.ts';
import { isUnprintable } from './confusable.ts';
import { type Owner, readingFacts } from './facts.ts';
import { limitList } from './limit-list.ts';
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
  /** The texts that begin with `ui://`. */
  readonly views: ReadonlySet<string>;
  /** Returns a target for a URI that the server does not list. */
  unlisted(uri: string, publicName: string): Target;
}

/** A resource that its server does not list. */
export interface UnlistedResource {
  readonly server: string;
  readonly uri: string;
  /** The tools whose definitions or results name it. */
  readonly namedBy: readonly Target[];
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
    withDigest({ ...made, servers: [server], facts, flags: isUnprintable(made.name) ? UNPRINTABLE : NO_FLAGS });

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
    views: new Set(entries.map(({ text }) => text).filter(isViewUri)),
    unlisted: (uri, publicName) => unlistedTarget({ server, uri }, publicName, owner),
  };
}

/** Returns the target of a URI that its server does not list. */
export function unlistedTarget(
  { server, uri, namedBy }: Omit<UnlistedResource, 'namedBy'> & Partial<Pick<UnlistedResource, 'namedBy'>>,
  publicName: string,
  owner: Owner,
): Target {
  return withDigest({
    kind: 'resource',
    publicName,
    name: uri,
    servers: [server],
    definition: { uri, name: uri },
    facts: readingFacts(owner),
    flags: isUnprintable(uri) ? UNPRINTABLE : NO_FLAGS,
    invalid: undefined,
    ...(namedBy && { namedBy }),
  });
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

/** Adds the digest to a target, which is computed when it is needed. */
export function withDigest(target: Omit<Target, 'digest'>): Target {
  let digest: string | undefined;
  return {
    ...target,
    get digest() {
      digest ??= createHash('sha256').update(canonicalJson(target.definition)).digest('hex');
      return digest;
    },
  };
}
