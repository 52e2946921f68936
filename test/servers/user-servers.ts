import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Caller, JsonObject } from '../../src/core/call.ts';
import { openStore } from '../../src/store/open-store.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';
import { openAuthorizationServer } from './authorization-server.ts';
import { openProtectedServer, type ProtectedServerOptions } from './protected-server.ts';

export const callerNamed = (id: string): Caller => ({ id, roles: ['user'], via: 'gateway' });

/**
 * Opens a Heddle with one protected server `box` that has per-user credentials. `signIn` stores a
 * token in the vault as another process would. The authorization server has only metadata for it.
 */
export async function openUserServer(era: ProtectedServerOptions['era'], settings: JsonObject = {}) {
  const tokens = new Map<string, string>();
  const introspect = async (token: string) => {
    const accountId = tokens.get(token);
    return accountId === undefined ? undefined : { accountId, clientId: 'client', aud: server.url, scope: '' };
  };
  const { issuer, close: closeIssuer } = await openAuthorizationServer();
  onTestFinished(closeIssuer);
  const authorizationServers = [{ issuer, introspect: introspect as never }];
  const server = await openProtectedServer({ era, authorizationServers });
  onTestFinished(() => server.close());
  const folder = await temporaryFolder();
  const store = join(folder, 'store.sqlite');
  const env = { PATH: process.env.PATH, HEDDLE_SECRET_KEY: 'k'.repeat(32) };
  const config = { ...settings, mcpServers: { box: { url: server.url, oauth: { credentials: 'user' } } } };
  const open = () =>
    temporaryHeddle({ folder, config, env, store, signInUrl: async (name, { id }) => `https://sign.in/${name}/${id}` });
  const heddle = await open();
  const { vault, signIns, close } = await openStore({ location: store, home: join(folder, 'home'), env });
  onTestFinished(close);
  let epoch = 1;

  return {
    heddle,
    open,
    server,
    vault,
    /** Stores a token of this account for a vault principal. */
    async signIn(principal: string, account = principal): Promise<string> {
      const accessToken = `token-${account}-${epoch}`;
      tokens.set(accessToken, account);
      const key = { issuer, resource: server.url, principal, serverUrl: server.url };
      const receivedAt = Date.now();
      await vault.put(
        { ...key, accessToken, tokenType: 'Bearer', receivedAt, scopes: [], clientId: 'client' },
        epoch++,
      );
      await signIns.forgive(server.url, principal);
      return accessToken;
    },
    /** Ends a token at the server, as a revocation by the user does. */
    revoke: (token: string) => tokens.delete(token),
  };
}
