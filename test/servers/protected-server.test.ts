import { describe, expect, it, onTestFinished } from 'vitest';
import { openAuthorizationServer } from './authorization-server.ts';
import { openProtectedServer } from './protected-server.ts';
import { SDK_CLIENTS } from './sdk-clients.ts';

const clientOf = (era: 'legacy' | 'modern') => SDK_CLIENTS[era === 'modern' ? 1 : 2]?.[1];

async function open(era: 'legacy' | 'modern') {
  const issuer = await openAuthorizationServer({
    clients: ['ada', 'bob'].map((client_id) => ({
      ...{ client_id, client_secret: 'secret', grant_types: ['client_credentials'] },
      ...{ redirect_uris: [], response_types: [] },
    })),
  });
  onTestFinished(() => issuer.close());
  const server = await openProtectedServer({ era, authorizationServers: [issuer] });
  onTestFinished(() => server.close());
  const tokenOf = async (client: string, resource = server.resource) => {
    const response = await fetch(`${issuer.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client}:secret`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope: 'mcp:read' }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  };
  return { server, issuer, tokenOf };
}

describe.each(['legacy', 'modern'] as const)('a protected server of the %s era', (era) => {
  it('tells subjects apart and refuses tokens for another resource', async () => {
    const { server, tokenOf } = await open(era);
    const results: unknown[] = [];
    for (const name of ['ada', 'bob']) {
      const client = await clientOf(era)?.({ url: server.url, token: await tokenOf(name) });
      onTestFinished(() => client?.close());
      results.push(
        await client?.call('whoami'),
        (await client?.list())?.map((tool) => tool.name),
      );
    }
    expect(results).toMatchObject([
      { content: [{ text: 'ada' }] },
      ['echo', 'whoami', 'only_ada'],
      { content: [{ text: 'bob' }] },
      ['echo', 'whoami', 'only_bob'],
    ]);
    const refused = await fetch(server.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${await tokenOf('ada', 'https://other.example/mcp')}` },
      body: '{}',
    });
    expect(refused.status).toBe(401);
    const metadata = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? '';
    expect(await (await fetch(metadata)).json()).toMatchObject({ resource: server.resource });
  });

  it('refuses what a test asks it to refuse', async () => {
    const { server } = await open(era);
    server.faults.refusals = [{ status: 403, challenge: 'Bearer error="insufficient_scope", scope="a b"' }];
    const response = await fetch(server.url, { method: 'POST', body: '{}' });
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([
      403,
      'Bearer error="insufficient_scope", scope="a b"',
    ]);
  });
});
