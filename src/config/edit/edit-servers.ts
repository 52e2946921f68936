import { getNodeValue } from 'jsonc-parser';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { objectAt, unfolded, withMember, withoutMember } from './edit-text.ts';

const BYTE_ORDER_MARK = '\uFEFF';

/** Returns the text of a new file without servers; Heddle's own files have a `$schema`. */
export function emptyFile(schema?: string): string {
  return `${JSON.stringify({ ...(schema !== undefined && { $schema: schema }), mcpServers: {} }, null, 2)}\n`;
}

/** Adds or replaces one server. Comments, order and layout of the other text stay. */
export function withServer(text: string, name: string, entry: JsonObject): string {
  return editBody(text, (body) => {
    const at = serversPath(body);
    const ready = at === undefined ? withMember(body, [], { name: 'mcpServers', value: {} }) : body;
    return withMember(ready, at ?? ['mcpServers'], { name, value: entry });
  });
}

/** Removes all entries of a server. A text without it stays the same. */
export function withoutServer(text: string, name: string): string {
  return editBody(text, (body) => {
    const at = serversPath(body);
    return at === undefined ? body : withoutMember(body, at, name);
  });
}

/** Sets one field of an existing server, such as `['enabled']`. */
export function withField(text: string, name: string, field: { path: readonly string[]; value: Json }): string {
  return editBody(text, (body) => {
    const steps = [...(serversPath(body) ?? ['mcpServers']), name, ...field.path];
    const last = steps.at(-1) ?? name;
    return withMember(body, steps.slice(0, -1), { name: last, value: field.value });
  });
}

/** Returns the servers of a file as they are written, by name. */
export function writtenServers(text: string): ReadonlyMap<string, Json> {
  const body = textBody(text);
  if (body.trim() === '') return new Map();
  const at = serversPath(body);
  if (at === undefined) return new Map();
  const pairs = (objectAt(body, at).children ?? []).map(({ children }) => children ?? []);
  return new Map(pairs.flatMap(([name, value]) => (name && value ? [[name.value, getNodeValue(value)] as const] : [])));
}

/** Edits a file without its byte-order mark. An edit without effect returns the text as it was. */
export function editBody(text: string, edit: (body: string) => string): string {
  const body = textBody(text);
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const start = body.trim() === '' ? emptyFile() : body;
  const after = edit(unfolded(start));
  // An edit without effect returns the original text, even if it is one line that was unfolded.
  return after === unfolded(start) && body.trim() !== '' ? text : mark + after;
}

/** Returns the text without a byte-order mark. */
export function textBody(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** Returns the path of the servers: `mcpServers`, or the root of a file that lists only servers. */
function serversPath(body: string): readonly string[] | undefined {
  const members = objectAt(body, []).children ?? [];
  if (members.some(({ children }) => children?.[0]?.value === 'mcpServers')) return ['mcpServers'];
  const values = members.map(({ children }) => (children?.[1] === undefined ? undefined : getNodeValue(children[1])));
  const bare = values.every((value) => isObject(value) && (value.command !== undefined || value.url !== undefined));
  return bare && values.length > 0 ? [] : undefined;
}
