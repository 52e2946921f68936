import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { linkedPair } from '../wire/linked-pair.ts';
import { Peer } from '../wire/peer.ts';
import { discoverTools } from './discover-tools.ts';
import { never, tinyServer } from './fixtures.ts';

type Page = (cursor: string | undefined) => JsonObject | Promise<JsonObject>;

async function discover(page: Page, signal = new AbortController().signal) {
  const [near, far] = linkedPair();
  const tiny = tinyServer({ 'tools/list': ({ cursor }) => page(cursor as string | undefined) });
  await tiny.serve(far);
  const peer = new Peer(near, { server: 'demo' });
  await peer.start();
  const found = discoverTools(peer, 'demo', signal);
  return found.finally(() => peer.close()).then((tools) => ({ tools, pages: tiny.asked.length }));
}

verifies('T8', 'finds the tools of all pages, each as the server wrote it', async () => {
  const page: Page = (cursor = '0') => {
    const at = Number(cursor);
    const tools = [{ name: `tool-${at}`, vendor: { x: at } }];
    return at < 6 ? { tools, nextCursor: String(at + 1) } : { tools };
  };
  const { tools, pages } = await discover(page);
  expect(pages).toBe(7);
  expect(tools.map(({ name }) => name)).toEqual([0, 1, 2, 3, 4, 5, 6].map((at) => `tool-${at}`));
  expect(tools[3]).toEqual({ name: 'tool-3', vendor: { x: 3 } });
});

verifies('T8', 'ends at an empty cursor, and passes over what is no tool', async () => {
  const tools = [{ name: 'one' }, 'two', null, { title: 'three' }, { name: 4 }];
  await expect(discover(() => ({ tools, nextCursor: '' }))).resolves.toEqual({ tools: [{ name: 'one' }], pages: 1 });
  await expect(discover(() => ({ tools: 'none' }))).resolves.toEqual({ tools: [], pages: 1 });
});

verifies('T8', 'says so when a list does not end, instead of giving a part of it', async () => {
  const failure = { code: 'UPSTREAM_FAILED', delivered: 'no' };
  const same = discover(() => ({ tools: [], nextCursor: 'again' }));
  await expect(same).rejects.toMatchObject({ ...failure, message: expect.stringContaining('same cursor twice') });
  let page = 0;
  const endless = discover(() => ({ tools: [], nextCursor: String(++page) }));
  await expect(endless).rejects.toMatchObject({ ...failure, message: expect.stringContaining('more than 1000 pages') });
  expect(page).toBe(1000);
});

it('takes a page of very many tools', async () => {
  const many = Array.from({ length: 200_000 }, (_, at) => ({ name: String(at) }));
  expect((await discover(() => ({ tools: many }))).tools).toHaveLength(200_000);
});

it('stops asking when it is told to', async () => {
  const abort = new AbortController();
  const page: Page = (cursor) => {
    if (cursor) queueMicrotask(() => abort.abort());
    return cursor ? never() : { tools: [], nextCursor: 'next' };
  };
  await expect(discover(page, abort.signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});
