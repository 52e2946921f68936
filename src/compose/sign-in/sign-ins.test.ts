import { describe, expect } from 'vitest';
import { memoryStore } from '../../../test/memory-store.ts';
import { verifies } from '../../../test/requirements.ts';
import type { ServerConfig } from '../../config/config.ts';
import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { signIns } from './sign-ins.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';
const ada: Caller = { id: 'key:ada', roles: ['operator'], via: 'gateway' };
const local: Caller = { id: 'local:me', roles: ['owner'], via: 'cli' };
const signal = new AbortController().signal;
const entry = {
  ...{ type: 'http', enabled: true, url: 'https://mcp.example/mcp', headers: {}, permissions: {} },
  oauth: { credentials: 'user' },
} as unknown as RemoteEntry;

/** Sign-ins whose requests all fail with UPSTREAM_UNREACHABLE. */
async function open() {
  const store = await memoryStore(() => 1_000_000);
  const { vault, clients, leases, signIns: book } = store;
  const config: ServerConfig = { name: 'mail', scope: 'user', entry, shadowed: [] };
  const fetch = () => Promise.reject(new HeddleError('UPSTREAM_UNREACHABLE', 'The network is down.'));
  return signIns({
    active: () => ({ configs: new Map([['mail', config]]) }),
    auth: { vault, clients, leases, signIns: book, fetch, clock: () => 1_000_000 },
    serverVisible: () => true,
    store,
  });
}

describe('an account of the caller’s own', () => {
  verifies('A6', 'is signed in to at the page of the gateway only, whatever the front end', async () => {
    const api = await open();
    const denied = expect.objectContaining({ code: 'PERMISSION_DENIED', fix: expect.stringContaining('`sign_in`') });
    await expect(api.begin(ada, 'mail', { redirect: REDIRECT, signal })).rejects.toEqual(denied);
    await expect(api.finish(ada, 'mail', { query: 'code=a&state=b', signal })).rejects.toEqual(denied);
    const atPage = { isAtPage: true, signal };
    const unreachable = expect.objectContaining({ code: 'UPSTREAM_UNREACHABLE' });
    await expect(api.begin(ada, 'mail', { redirect: REDIRECT, ...atPage })).rejects.toEqual(unreachable);
    const refused = expect.objectContaining({ code: 'AUTH_REFUSED' });
    await expect(api.finish(ada, 'mail', { query: 'code=a&state=b', ...atPage })).rejects.toEqual(refused);
  });

  verifies('A2', 'takes no text with a space or a quote as a scope', async () => {
    const api = await open();
    for (const scope of ['read write', '"', '', 'é', 'x'.repeat(257)]) {
      const begun = api.begin(local, 'mail', { redirect: REDIRECT, scopes: ['read', scope], signal });
      await expect(begun).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    }
  });

  verifies('A2', 'is signed in to anywhere by the user of this machine', async () => {
    const api = await open();
    const unreachable = expect.objectContaining({ code: 'UPSTREAM_UNREACHABLE' });
    await expect(api.begin(local, 'mail', { redirect: REDIRECT, signal })).rejects.toEqual(unreachable);
  });
});
