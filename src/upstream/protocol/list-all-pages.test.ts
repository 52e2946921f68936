import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { linkedPair } from '../../wire/linked-pair.ts';
import { Peer } from '../../wire/peer.ts';
import type { ListKind } from '../connection.ts';
import { never, tinyServer } from '../fixtures.ts';
import { listAllPages } from './list-all-pages.ts';

type Page = (cursor: string | undefined) => JsonObject | Promise<JsonObject>;

const METHODS: Readonly<Record<ListKind, string>> = {
  tools: 'tools/list',
  resources: 'resources/list',
  templates: 'resources/templates/list',
  prompts: 'prompts/list',
};

async function found(page: Page, kind: ListKind = 'tools', signal = new AbortController().signal) {
  const [near, far] = linkedPair();
  const tiny = tinyServer({ [METHODS[kind]]: ({ cursor }) => page(cursor as string | undefined) });
  await tiny.serve(far);
  const peer = new Peer(near, { server: 'demo' });
  await peer.start();
  const discovered = listAllPages(peer, { server: 'demo', kind, signal });
  return discovered.finally(() => peer.close()).then((items) => ({ items, pages: tiny.requests.length }));
}

verifies('T8', 'returns the items of all pages unchanged', async () => {
  const page: Page = (cursor = '0') => {
    const at = Number(cursor);
    const tools = [{ name: `tool-${at}`, vendor: { x: at } }];
    return at < 6 ? { tools, nextCursor: String(at + 1) } : { tools };
  };
  const { items, pages } = await found(page);
  expect(pages).toBe(7);
  expect(items.map(({ name }) => name)).toEqual([0, 1, 2, 3, 4, 5, 6].map((at) => `tool-${at}`));
  expect(items[3]).toEqual({ name: 'tool-3', vendor: { x: 3 } });
});

verifies('T8', 'returns tools, resources, templates and prompts, and skips invalid items', async () => {
  const junk = ['two', null, { title: 'three' }, { name: 4, uri: 4, uriTemplate: 4 }];
  const tools = [{ name: 'a' }, ...junk];
  await expect(found(() => ({ tools }))).resolves.toEqual({ items: [{ name: 'a' }], pages: 1 });
  const resources = [{ uri: 'file:///a' }, { name: 'no address' }, ...junk];
  await expect(found(() => ({ resources }), 'resources')).resolves.toMatchObject({ items: [{ uri: 'file:///a' }] });
  const resourceTemplates = [{ uriTemplate: 'file:///{name}' }, { uri: 'file:///a' }, ...junk];
  const templates = await found(() => ({ resourceTemplates }), 'templates');
  expect(templates.items).toEqual([{ uriTemplate: 'file:///{name}' }]);
  const prompts = [{ name: 'greet' }, { uri: 'x' }, ...junk];
  await expect(found(() => ({ prompts }), 'prompts')).resolves.toMatchObject({ items: [{ name: 'greet' }] });
});

verifies('T8', 'ends at an empty cursor, and returns no items for a result without a list', async () => {
  const once = found(() => ({ tools: [{ name: 'one' }], nextCursor: '' }));
  await expect(once).resolves.toEqual({ items: [{ name: 'one' }], pages: 1 });
  await expect(found(() => ({ tools: 'none' }))).resolves.toEqual({ items: [], pages: 1 });
});

verifies('T8', 'returns no templates for a server without resources/templates/list', async () => {
  const unknown = () => {
    throw new RpcError(-32601, 'Method not found');
  };
  await expect(found(unknown, 'templates')).resolves.toMatchObject({ items: [] });
  await expect(found(unknown, 'resources')).rejects.toMatchObject({ code: -32601 });
  const broken = () => {
    throw new RpcError(-32603, 'broken');
  };
  await expect(found(broken, 'templates')).rejects.toMatchObject({ code: -32603 });
});

verifies('T8', 'throws when a list does not end, instead of returning a part of it', async () => {
  const failure = { code: 'UPSTREAM_FAILED', delivered: 'no' };
  const same = found(() => ({ resources: [], nextCursor: 'again' }), 'resources');
  const message = 'The list of resources of demo does not end: it gave the same cursor twice.';
  await expect(same).rejects.toMatchObject({ ...failure, message });
  let page = 0;
  const endless = found(() => ({ tools: [], nextCursor: String(++page) }));
  await expect(endless).rejects.toMatchObject({ ...failure, message: expect.stringContaining('more than 1000 pages') });
  expect(page).toBe(1000);
});

it('rejects pages that are too long together', async () => {
  let page = 0;
  const tools = [{ name: 'big', description: 'x'.repeat(8 * 1024 * 1024) }];
  const big = found(() => ({ tools, nextCursor: String(++page) }));
  await expect(big).rejects.toMatchObject({ message: expect.stringContaining('more than 67108864 characters') });
  expect(page).toBeLessThan(10);
});

it('accepts a page of many tools, and rejects one over the limit', async () => {
  const many = Array.from({ length: 100_000 }, (_, at) => ({ name: String(at) }));
  expect((await found(() => ({ tools: many }))).items).toHaveLength(100_000);
  const tooMany = found(() => ({ tools: [...many, { name: 'one more' }] }));
  await expect(tooMany).rejects.toMatchObject({ message: expect.stringContaining('more than 100000 items') });
});

it('ends the request when the signal aborts', async () => {
  const abort = new AbortController();
  const page: Page = (cursor) => {
    if (cursor) queueMicrotask(() => abort.abort());
    return cursor ? never() : { tools: [], nextCursor: 'next' };
  };
  await expect(found(page, 'tools', abort.signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});
