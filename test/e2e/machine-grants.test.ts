import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { newCallId } from '../../src/core/call/call-id.ts';
import type { Caller } from '../../src/core/call.ts';
import type { Heddle } from '../../src/heddle.ts';
import { verifies } from '../requirements.ts';
import { openAuthorizationServer } from '../servers/authorization-server.ts';
import { openProtectedServer } from '../servers/protected-server.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';

const owner: Caller = { id: 'local:ada', roles: ['owner'], via: 'library' };
const { signal } = new AbortController();
const CLIENT = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };

/** Opens an authorization server and a protected server of each era, with `client_credentials` in the configuration. */
async function openMachines(requiredScopes: readonly string[] = []) {
  const as = await openAuthorizationServer({
    clients: [{ client_id: 'robot', client_secret: 'robot-secret', ...CLIENT }],
  });
  onTestFinished(() => as.close());
  const open = (era: 'legacy' | 'modern') => openProtectedServer({ era, authorizationServers: [as], requiredScopes });
  const servers = { legacy: await open('legacy'), modern: await open('modern') };
  for (const server of Object.values(servers)) onTestFinished(() => server.close());
  const oauth = { grant: 'client_credentials', clientId: 'robot', clientSecret: 'robot-secret' };
  const entries = Object.entries(servers).map(([name, { url }]) => [name, { type: 'http', url, oauth }]);
  return { as, servers, mcpServers: Object.fromEntries(entries) };
}

async function whoami(heddle: Heddle, server: string): Promise<unknown> {
  const result = await heddle.dispatch({
    ...{ id: newCallId(), kind: 'tool', name: `${server}.whoami`, input: {}, meta: {} },
    ...{ caller: owner, options: {}, signal },
  });
  const value = result.kind === 'complete' ? result.value : {};
  return JSON.parse(JSON.stringify(value.content))[0].text;
}

verifies('A4', 'calls servers of both eras with tokens of client_credentials, one token request each', async () => {
  const { as, mcpServers } = await openMachines();
  const heddle = await temporaryHeddle({ config: { mcpServers } });
  for (const era of ['legacy', 'modern', 'legacy', 'modern']) expect(await whoami(heddle, era)).toBe('robot');
  expect(as.tokenRequests.map(({ params }) => params.grant_type)).toEqual(['client_credentials', 'client_credentials']);
  const failed = await heddle.signIns
    .begin(owner, 'modern', { redirect: 'http://127.0.0.1:9/', signal })
    .catch((e) => e);
  expect(failed).toMatchObject({ code: 'USAGE_INVALID', message: /needs none/ });
});

verifies('A4', 'requests the scopes that a server demands', async () => {
  const { as, mcpServers } = await openMachines(['mcp:read']);
  const heddle = await temporaryHeddle({ config: { mcpServers } });
  expect(await whoami(heddle, 'modern')).toBe('robot');
  expect(as.tokenRequests.map(({ params }) => params.scope)).toEqual(['mcp:read']);
});

verifies('A4', 'names the missing assertion file of one server, and calls the others', async () => {
  const { as, servers, mcpServers } = await openMachines();
  const assertionFile = join(await temporaryFolder(), 'absent.jwt');
  const pod = { type: 'http', url: servers.legacy.url, oauth: { grant: 'jwt_bearer', clientId: 'pod', assertionFile } };
  const heddle = await temporaryHeddle({ config: { mcpServers: { modern: mcpServers.modern, pod } } });
  await expect(whoami(heddle, 'pod')).rejects.toMatchObject({
    code: 'AUTH_NEEDED',
    message: expect.stringContaining('absent.jwt'),
  });
  expect(as.counts.token).toBe(0);
  expect(await whoami(heddle, 'modern')).toBe('robot');
});

verifies('A4', 'reports a wrong secret once per call, and keeps it out of the error', async () => {
  const { as, mcpServers } = await openMachines();
  const oauth = { ...mcpServers.modern.oauth, clientSecret: 'wrong-MARKER' };
  const heddle = await temporaryHeddle({ config: { mcpServers: { modern: { ...mcpServers.modern, oauth } } } });
  const failed = await whoami(heddle, 'modern').then(
    () => expect.fail('the call was carried out'),
    (error: Error & { fix: string }) => error,
  );
  expect(failed).toMatchObject({ code: 'AUTH_REFUSED', message: /invalid_client/ });
  expect(JSON.stringify([failed, failed.message, failed.fix])).not.toContain('MARKER');
  expect(as.counts.token).toBe(1);
});
