import type { Json, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { isViewUri } from '../../core/text/view-uri.ts';

/** Returns the name of a URI that a server names in a result, and lets the caller read it. */
export type NameLink = (call: ResolvedCall, server: string, uri: string) => string;

/**
 * Returns the result of a tool or prompt with the names of the resources that its content links or embeds. It is the same
 * object if no name differs from the server's. Only items of these types are looked at.
 */
export function withNamedLinks(call: ResolvedCall, result: Result, nameLink: NameLink): Result {
  if (result.kind !== 'complete') return result;
  const { value, provenance } = result;
  // Most results have no link.
  if (call.kind === 'tool' && !(Array.isArray(value.content) && value.content.some(mayLink))) return result;
  const named = (item: Json | undefined) => withNamedUri(item, (uri) => nameLink(call, provenance.server, uri));
  const key = call.kind === 'tool' ? 'content' : 'messages';
  const items = mapChanged(value[key], key === 'content' ? named : (message) => withNamedContent(message, named));
  return items === value[key] ? result : { ...result, value: { ...value, [key]: items } };
}

const mayLink = (item: Json) => isObject(item) && (item.type === 'resource_link' || item.type === 'resource');

function withNamedContent(message: Json | undefined, named: (item: Json | undefined) => Json | undefined) {
  if (!isObject(message)) return message;
  const content = Array.isArray(message.content) ? mapChanged(message.content, named) : named(message.content);
  return content === message.content ? message : { ...message, content };
}

function withNamedUri(item: Json | undefined, nameOf: (uri: string) => string): Json | undefined {
  if (!isObject(item)) return item;
  if (item.type === 'resource_link') return withName(item, nameOf);
  if (item.type !== 'resource' || !isObject(item.resource)) return item;
  const resource = withName(item.resource, nameOf);
  return resource === item.resource ? item : { ...item, resource };
}

/** Returns the result of a read of a view, in which the read URI is the one that the client wrote. */
export function withNamedContents(
  { name, target }: ResolvedCall,
  result: Result,
  nameOf: (server: string, uri: string) => string,
): Result {
  if (result.kind !== 'complete') return result;
  const { contents } = result.value;
  const nameAt = (uri: string) => (uri === target.name && isViewUri(name) ? name : nameOf(target.servers[0], uri));
  const named = mapChanged(contents, (item) => (isObject(item) ? withName(item, nameAt) : item));
  return named === contents ? result : { ...result, value: { ...result.value, contents: named } };
}

/** Returns an object with the name of its `uri`; the same object if there is no other name. */
function withName(item: JsonObject, nameOf: (uri: string) => string): JsonObject {
  const { uri } = item;
  if (typeof uri !== 'string') return item;
  const name = nameOf(uri);
  return name === uri ? item : { ...item, uri: name };
}

/** Maps the items of an array. Returns the same array if no item changes, or if it is none. */
function mapChanged(items: Json | undefined, change: (item: Json | undefined) => Json | undefined): Json | undefined {
  if (!Array.isArray(items)) return items;
  let changed: (Json | undefined)[] | undefined;
  for (let at = 0; at < items.length; at++) {
    const item = change(items[at]);
    if (item === items[at]) continue;
    changed ??= [...items];
    changed[at] = item;
  }
  return (changed as Json[] | undefined) ?? items;
}
