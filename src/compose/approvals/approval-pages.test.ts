import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller } from '../../core/call.ts';
import { ada } from '../../core/fixtures.ts';
import { anApproval, approvalBench, boss, ops, START } from '../../govern/approvals/fixtures.ts';
import { realStore } from '../../govern/fixtures.ts';
import { approvalApi } from './approval-api.ts';

const LIMITS = { perPrincipal: 10_000, total: 10_000 };
const MB = 1024 * 1024;

/** Opens the API over approvals with about 4 KB of arguments each; every fifth has the profile `pub`. */
async function withApprovals(count: number) {
  const store = await realStore();
  for (let n = 0; n < count; n++) {
    const approval = anApproval({ id: `ap_${n}`, binding: `b${n}`, requestedAt: START + (n >> 2) });
    const subject = { ...approval.subject, arguments: { text: 'x'.repeat(3900) } };
    await store.approvals.open({ ...approval, subject, ...(n % 5 === 0 && { profile: 'pub' }) }, LIMITS);
  }
  const bench = await approvalBench(ada, store);
  return { store, api: approvalApi(async () => bench.flow) };
}

type Api = Awaited<ReturnType<typeof withApprovals>>['api'];

/** Reads all pages. */
async function pagesOf(api: Api, by: Caller, limit: number) {
  const pages: (readonly { readonly id: string }[])[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await api.page(by, { limit, ...(cursor !== undefined && { cursor }) });
    pages.push(items);
    if (next === undefined) return pages;
    cursor = next;
  }
}

verifies('P6', 'a page of approvals has at most 1 MB, and the pages have each approval once', async () => {
  const { api } = await withApprovals(300);
  const pages = await pagesOf(api, boss, 10_000);
  expect(pages.length).toBe(2);
  for (const page of pages) expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(MB + 2);
  const ids = pages.flat().map(({ id }) => id);
  expect([ids.length, new Set(ids).size, ids[0], ids.at(-1)]).toEqual([300, 300, 'ap_296', 'ap_3']);
  expect((await api.list(boss, { limit: 280 })).map(({ id }) => id)).toEqual(ids.slice(0, 280));
});

verifies('G6', 'the pages and the count of a caller with a profile have the approvals of this profile', async () => {
  const { api } = await withApprovals(250);
  const bound = { ...ops, profile: 'pub' };
  const pages = await pagesOf(api, bound, 20);
  expect(pages.map(({ length }) => length)).toEqual([20, 20, 10]);
  expect(new Set(pages.flat().map(({ id }) => Number(id.slice(3)) % 5))).toEqual(new Set([0]));
  expect([await api.count(bound), await api.count(boss)]).toEqual([50, 250]);
});

verifies('G6', 'a list leaves out the content of forms, which `get` has', async () => {
  const { api, store } = await withApprovals(1);
  const found = await store.approvals.get('ap_0');
  if (!found) throw new Error('There is no approval.');
  const content = { text: 'x'.repeat(60_000) };
  const decision = { by: 'ops', roles: [], at: 1, verdict: 'approve', stage: 0, content, via: 'gateway' } as const;
  await store.approvals.replace({ ...found, version: 2, decisions: [decision] });
  expect((await api.list(boss))[0]?.decisions).toEqual([{ ...decision, content: undefined }]);
  expect((await api.get(boss, 'ap_0')).decisions).toEqual([decision]);
});

verifies('P6', 'a broken cursor is refused', async () => {
  const { api } = await withApprovals(1);
  for (const cursor of ['', 'x', '1', '1.ap_', `1.ap_${'x'.repeat(100_000)}`, '1e9.ap_1', "1.ap_' OR 1=1"]) {
    await expect(api.page(boss, { cursor })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  }
});
