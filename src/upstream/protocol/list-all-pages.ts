import type { JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { withPlainNumbers } from '../../core/exact-numbers.ts';
import { isObject } from '../../core/json.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { METHOD_NOT_FOUND } from '../../wire/mcp.ts';
import type { Peer } from '../../wire/peer.ts';
import type { ListKind } from '../connection.ts';
import { CONNECT_MS, orLateConnect } from './connect-timeout.ts';

export interface ListPagesOptions {
  readonly server: string;
  readonly kind: ListKind;
  readonly signal: AbortSignal;
  /** Deadline of each page; 15 s unless given. */
  readonly timeoutMs?: number | undefined;
  /** Receives the `ttlMs` of each page. */
  readonly onTtl?: (ttlMs: unknown) => void;
}

interface List {
  readonly method: string;
  /** The key of the items in a result. */
  readonly key: string;
  /** The key that every item must have: without it an item can be neither called nor read. */
  readonly handle: string;
}

const LISTS: Readonly<Record<ListKind, List>> = {
  tools: { method: 'tools/list', key: 'tools', handle: 'name' },
  resources: { method: 'resources/list', key: 'resources', handle: 'uri' },
  templates: { method: 'resources/templates/list', key: 'resourceTemplates', handle: 'uriTemplate' },
  prompts: { method: 'prompts/list', key: 'prompts', handle: 'name' },
};

const MAX_PAGES = 1000;
const MAX_ITEMS = 100_000;
const MAX_CHARS = 64 * 1024 * 1024;

/** Fetches all pages of one list. Items stay unchanged. A list beyond the limits throws; no part of it is returned. */
export async function listAllPages(peer: Peer, options: ListPagesOptions): Promise<readonly JsonObject[]> {
  const { server, kind, signal, timeoutMs = CONNECT_MS } = options;
  const late = { server, task: `list its ${kind}`, timeoutMs };
  const list = LISTS[kind];
  const items: JsonObject[] = [];
  const cursors = new Set<string>();
  let params: JsonObject = {};
  let chars = 0;
  while (cursors.size < MAX_PAGES) {
    const result = await peer
      .request(list.method, params, { deadlineMs: timeoutMs, signal })
      .catch(noneOf(kind))
      .catch((thrown) => {
        throw orLateConnect(thrown, late);
      });
    options.onTtl?.(result.ttlMs);
    const page = itemsOf(withPlainNumbers(result), list); // Schemas are compiled, which needs plain numbers.
    for (const item of page) items.push(item); // `push(...page)` would overflow the stack on a long page.
    if (items.length > MAX_ITEMS) throw tooLong(options, `it has more than ${MAX_ITEMS} items`);
    const cursor = result.nextCursor;
    if (typeof cursor !== 'string' || cursor === '') return items;
    // The transport limits the size of one page; this limits their sum.
    chars += JSON.stringify(page).length;
    if (chars > MAX_CHARS) throw tooLong(options, `it has more than ${MAX_CHARS} characters`);
    if (cursors.has(cursor)) throw tooLong(options, 'it gave the same cursor twice');
    cursors.add(cursor);
    params = { cursor };
  }
  throw tooLong(options, `it has more than ${MAX_PAGES} pages`);
}

function itemsOf(result: JsonObject, { key, handle }: List): JsonObject[] {
  const values: unknown = result[key];
  const found: readonly unknown[] = Array.isArray(values) ? values : [];
  return found.filter((item): item is JsonObject => isObject(item) && typeof item[handle] === 'string');
}

/** Returns an empty list for missing templates: servers with the `resources` capability may not have them. */
function noneOf(kind: ListKind): (thrown: unknown) => JsonObject {
  return (thrown) => {
    if (kind === 'templates' && thrown instanceof RpcError && thrown.code === METHOD_NOT_FOUND) return {};
    throw thrown;
  };
}

const tooLong = ({ server, kind }: ListPagesOptions, reason: string) =>
  new UpstreamError('UPSTREAM_FAILED', `The list of ${kind} of ${server} does not end: ${reason}.`, {
    delivered: 'no',
    fix: `Tell the maintainer of ${server}; its other lists work.`,
  });
