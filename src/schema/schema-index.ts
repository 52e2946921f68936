import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { pointerTarget } from './json-pointer.ts';

/** A part of a schema with an URI of its own: the whole schema, or a subschema with an `$id`. */
export interface SchemaResource {
  readonly uri: string;
  readonly root: JsonObject;
  readonly anchors: Map<string, JsonObject>;
  readonly dynamicAnchors: Map<string, JsonObject>;
}

/** The target of a reference, and the resource that contains it. */
export interface ReferenceTarget {
  readonly schema: Json;
  readonly resource: SchemaResource;
  /** The plain name in the fragment; undefined for a JSON pointer. */
  readonly anchor?: string;
}

/** The resources of one schema. Nothing is fetched. */
export interface SchemaIndex {
  /** True for drafts before 2019, which are read as draft 7. */
  readonly isOld: boolean;
  resourceOf(schema: JsonObject, parent: SchemaResource | undefined): SchemaResource;
  /** Resolves a reference of a schema in `from`. Throws an Error that names it if it leads to nothing. */
  resolve(reference: string, from: SchemaResource): ReferenceTarget;
}

// The difference that servers use is tuples.
const OLD_DRAFT = /draft-0[3-7]/;
// Relative ids are resolved against it. The name is reserved: it never exists.
const BASE = 'https://schema.invalid/';
// Each relative `$id` makes a URI that repeats its base, so a long base would be copied for each.
const MAX_URI_CHARS = 2_048;
const MAPS = ['$defs', 'definitions', 'properties', 'patternProperties', 'dependentSchemas', 'dependencies'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const SINGLES = [
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties', 'unevaluatedProperties'],
  ...['propertyNames', 'not', 'if', 'then', 'else', 'contentSchema'],
];

/** Finds the resources and anchors of a schema. */
export function indexSchema(root: JsonObject): SchemaIndex {
  const isOld = typeof root.$schema === 'string' && OLD_DRAFT.test(root.$schema);
  const resources = new Map<string, SchemaResource>();
  const owners = new Map<JsonObject, SchemaResource>();

  function enter(schema: JsonObject, parent: SchemaResource | undefined): SchemaResource {
    // Draft 7 ignores all keywords beside a reference.
    const isIgnored = isOld && schema.$ref !== undefined;
    const id = typeof schema.$id === 'string' && !isIgnored ? limited('$id', schema.$id) : '';
    const [path = '', name = ''] = id.split('#', 2);
    const resource = parent && path === '' ? parent : added(schema, path, parent?.uri ?? BASE);
    addAnchors(schema, isOld && name !== '' ? name : undefined, resource);
    return resource;
  }

  function added(root: JsonObject, path: string, base: string): SchemaResource {
    const uri = absolute(path, base) ?? base;
    const resource = { uri, root, anchors: new Map(), dynamicAnchors: new Map() };
    if (!resources.has(uri)) resources.set(uri, resource);
    return resource;
  }

  function addAnchors(schema: JsonObject, name: string | undefined, { anchors, dynamicAnchors }: SchemaResource): void {
    const { $anchor, $dynamicAnchor } = schema;
    if (name !== undefined) anchors.set(name, schema);
    if (isOld) return;
    if (typeof $anchor === 'string') anchors.set($anchor, schema);
    if (typeof $dynamicAnchor !== 'string') return;
    anchors.set($dynamicAnchor, schema);
    dynamicAnchors.set($dynamicAnchor, schema);
  }

  function visit(schema: Json | undefined, parent: SchemaResource | undefined): void {
    if (!isObject(schema) || owners.has(schema)) return;
    const resource = enter(schema, parent);
    owners.set(schema, resource);
    for (const one of subschemasOf(schema)) visit(one, resource);
  }

  function resourceOf(schema: JsonObject, parent: SchemaResource | undefined): SchemaResource {
    if (!owners.has(schema)) visit(schema, parent); // Behind a pointer into a keyword that defines no schemas.
    return owners.get(schema) as SchemaResource;
  }

  visit(root, undefined);
  return {
    isOld,
    resourceOf,
    resolve(reference, from) {
      const [path, fragment] = splitAtHash(limited('reference', reference));
      const resource = path === '' ? from : resources.get(absolute(path, from.uri) ?? '');
      if (!resource) throw new Error(`the reference ${shown(reference)} leads out of it, and nothing is fetched`);
      const isPointer = fragment === '' || fragment.startsWith('/');
      const found = isPointer ? pointerTarget(resource.root, fragment) : resource.anchors.get(fragment);
      if (typeof found !== 'boolean' && !isObject(found))
        throw new Error(`the reference ${shown(reference)} leads to nothing`);
      const owner = isObject(found) ? resourceOf(found, resource) : resource;
      return { schema: found, resource: owner, ...(!isPointer && { anchor: fragment }) };
    },
  };
}

function splitAtHash(reference: string): readonly [path: string, fragment: string] {
  const at = reference.indexOf('#');
  return at < 0 ? [reference, ''] : [reference.slice(0, at), reference.slice(at + 1)];
}

function subschemasOf(schema: JsonObject): readonly (Json | undefined)[] {
  const own = (key: string) => (Object.hasOwn(schema, key) ? schema[key] : undefined);
  const maps = MAPS.flatMap((key) => Object.values(isObject(own(key)) ? (own(key) as JsonObject) : {}));
  const lists = LISTS.flatMap((key) => (Array.isArray(own(key)) ? (own(key) as Json[]) : []));
  return [...maps, ...lists, ...SINGLES.map(own)];
}

function absolute(path: string, base: string): string | undefined {
  let href: string;
  try {
    href = path === '' ? base : new URL(path, base).href;
  } catch {
    return undefined;
  }
  return limited('URI', href);
}

function limited(what: string, text: string): string {
  if (text.length <= MAX_URI_CHARS) return text;
  throw new Error(`the ${what} ${shown(text)} is longer than ${MAX_URI_CHARS} characters`);
}

const shown = (reference: string) => JSON.stringify(reference.length > 60 ? `${reference.slice(0, 60)}…` : reference);
