import { expect } from 'vitest';
import { memoryStore } from '../../../test/memory-store.ts';
import { verifies } from '../../../test/requirements.ts';
import type { ServerConfig } from '../../config/config.ts';
import { defaultSettings } from '../../config/schema/default-settings.ts';
import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { Caller } from '../../core/call.ts';
import { guardedFetch } from '../../egress/guarded-fetch.ts';
import { policyOf } from '../../govern/decide.ts';
import { browserSignIns } from './browser-sign-ins.ts';

const MINUTE = 60_000;
const ada: Caller = { id: 'key:ada', roles: ['user'], via: 'gateway' };
const entry = {
  type: 'http',
  enabled: true,
  url: 'https://mcp.example/mcp',
  headers: {},
  permissions: {},
  oauth: { credentials: 'user' },
} as unknown as RemoteEntry;

async function setup(more: Partial<ServerConfig> = {}) {
  const time = { now: 1_000_000_000 };
  const store = await memoryStore(() => time.now);
  const { vault, clients, leases, signIns } = store;
  const config: ServerConfig = { name: 'mail', scope: 'user', entry, shadowed: [], ...more };
  const configs = new Map([['mail', config]]);
  const policy = policyOf(defaultSettings('/'), configs);
  const pages = browserSignIns({
    active: () => ({ configs, policy }),
    auth: { vault, clients, leases, signIns, fetch: guardedFetch, clock: () => time.now },
  });
  pages.serveAt(() => 'https://gateway.example');
  return { pages, time };
}

const ticketOf = (page: string | undefined) => page?.split('/').at(-1) ?? '';

verifies(
  'A6',
  'returns the same page to a caller that calls again, until it is used or half its time is over',
  async () => {
    const { pages, time } = await setup();
    const first = await pages.pageFor(ada, 'mail');
    expect(first).toMatch(/^https:\/\/gateway\.example\/connect\//);
    expect(await pages.pageFor(ada, 'mail')).toBe(first);
    expect(await pages.pageFor({ ...ada, id: 'key:bob' }, 'mail')).not.toBe(first);
    expect(await pages.take(ticketOf(first))).toMatchObject({ server: 'mail', caller: { id: 'key:ada' } });
    const second = await pages.pageFor(ada, 'mail');
    expect(second).not.toBe(first);
    time.now += 5 * MINUTE;
    expect(await pages.pageFor(ada, 'mail')).not.toBe(second);
  },
);

verifies('C11', 'has no page for a server that is not trusted', async () => {
  const problem = { level: 'error', code: 'SERVER_UNTRUSTED', message: 'Not trusted.', fix: 'Trust it.' } as const;
  const { pages } = await setup({ problem });
  expect(await pages.pageFor(ada, 'mail')).toBeUndefined();
});
