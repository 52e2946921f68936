import type { JsonObject } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { Peer } from '../wire/peer.ts';

const REQUEST_MS = 15_000;
const MAX_PAGES = 1000;

/** All pages of a server's tools. A list that does not end is an error, never a part. */
export async function discoverTools(peer: Peer, server: string, signal: AbortSignal): Promise<readonly JsonObject[]> {
  const tools: JsonObject[] = [];
  const cursors = new Set<string>();
  let params: JsonObject = {};
  while (cursors.size < MAX_PAGES) {
    const answer = await peer.request('tools/list', params, { deadlineMs: REQUEST_MS, signal });
    for (const tool of toolsOf(answer)) tools.push(tool); // Spread, a long page would overflow the stack.
    const cursor = answer.nextCursor;
    if (typeof cursor !== 'string' || cursor === '') return tools;
    if (cursors.has(cursor)) throw endless(server, 'it gave the same cursor twice');
    cursors.add(cursor);
    params = { cursor };
  }
  throw endless(server, `it has more than ${MAX_PAGES} pages`);
}

function toolsOf({ tools }: JsonObject): JsonObject[] {
  const list: readonly unknown[] = Array.isArray(tools) ? tools : [];
  return list.filter((tool): tool is JsonObject => isObject(tool) && typeof tool.name === 'string');
}

const endless = (server: string, why: string) =>
  new UpstreamError('UPSTREAM_FAILED', `The list of tools of ${server} does not end: ${why}.`, { delivered: 'no' });
