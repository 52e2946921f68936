import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import type { AddressSource } from '../../egress/address-source.ts';
import type { AuthFetch } from './auth-parts.ts';
import { type DiscoveryRequest, discover } from './discovery.ts';

const SERVER = 'https://mcp.example/mcp';
const ISSUER = 'https://as.example/tenant';
const PATH_PRM = 'https://mcp.example/.well-known/oauth-protected-resource/mcp';
const ROOT_PRM = 'https://mcp.example/.well-known/oauth-protected-resource';
const PRM = { resource: SERVER, authorization_servers: [ISSUER] };
const INSERTED = 'https://as.example/.well-known/oauth-authorization-server/tenant';

const metadataOf = (issuer: string): JsonObject => ({ issuer, token_endpoint: `${issuer}/token` });

/** A web of documents: a body, or the status of a failure. Every other address answers 404. */
function webOf(documents: Readonly<Record<string, Json>>) {
  const fetched: { readonly url: string; readonly source: AddressSource }[] = [];
  const fetch: AuthFetch = async (url, { source }) => {
    fetched.push({ url, source });
    const found = documents[url] ?? 404;
    const status = typeof found === 'number' ? found : 200;
    return { status, headers: {}, body: Buffer.from(JSON.stringify(found)), url, kind: 'public' };
  };
  const find = (change: Partial<DiscoveryRequest> = {}) =>
    discover({ fetch }, { server: 'demo', serverUrl: SERVER, ...change });
  return { find, fetched, urls: () => fetched.map(({ url }) => url) };
}

const named = (url: string) => ({ scheme: 'bearer', params: { resource_metadata: url } });
const settings = (change: object) => ({ credentials: 'shared' as const, ...change });

describe('discovery', () => {
  verifies('A2', 'reads the metadata that the challenge names, and no other', async () => {
    const url = 'https://mcp.example/custom/metadata.json';
    const web = webOf({ [url]: PRM, [INSERTED]: metadataOf(ISSUER) });
    const found = await web.find({ challenge: named(url) });
    expect(found).toMatchObject({
      resource: SERVER,
      resourceParameter: SERVER,
      metadataUrl: url,
      as: { issuer: ISSUER },
    });
    expect(web.urls()).toEqual([url, INSERTED]);
    expect(web.fetched[0]?.source).toEqual({ written: SERVER, document: { url: SERVER, kind: 'public' } });
    expect(web.fetched[1]?.source).toEqual({ written: SERVER, document: { url, kind: 'public' } });
  });

  verifies('A7', 'refuses a server without encryption that is not on this machine, and fetches nothing', async () => {
    for (const serverUrl of ['http://mcp.example/mcp', 'ws://mcp.example/mcp', 'http://127.0.0.1.evil.example/mcp']) {
      const web = webOf({ [PATH_PRM]: PRM, [INSERTED]: metadataOf(ISSUER) });
      const refused = { code: 'AUTH_REFUSED', message: expect.stringContaining('is not encrypted') };
      await expect(web.find({ serverUrl, challenge: named(PATH_PRM) })).rejects.toMatchObject(refused);
      expect(web.urls()).toEqual([]);
    }
  });

  verifies('A2', 'reads the metadata at the path of the server, else at the root', async () => {
    const atPath = webOf({ [PATH_PRM]: PRM, [INSERTED]: metadataOf(ISSUER) });
    expect((await atPath.find()).metadataUrl).toBe(PATH_PRM);
    expect(atPath.urls()).not.toContain(ROOT_PRM);
    const atRoot = webOf({ [ROOT_PRM]: { ...PRM, resource: 'https://mcp.example' }, [INSERTED]: metadataOf(ISSUER) });
    // Byte for byte: no slash is added to a URL without a path.
    expect(await atRoot.find()).toMatchObject({ resource: 'https://mcp.example', metadataUrl: ROOT_PRM });
    expect(atRoot.urls()).toEqual([PATH_PRM, ROOT_PRM, INSERTED]);
  });

  verifies('A2', 'tries RFC 8414 with the path inserted, then OpenID Connect inserted and appended', async () => {
    const appended = `${ISSUER}/.well-known/openid-configuration`;
    const web = webOf({ [PATH_PRM]: PRM, [INSERTED]: 405, [appended]: metadataOf(ISSUER) });
    await web.find();
    expect(web.urls().slice(1)).toEqual([
      INSERTED,
      'https://as.example/.well-known/openid-configuration/tenant',
      appended,
    ]);
  });

  verifies('A2', 'uses the first authorization server that answers', async () => {
    const silent = 'https://silent.example';
    const web = webOf({
      [PATH_PRM]: { ...PRM, authorization_servers: [silent, ISSUER] },
      [`${silent}/.well-known/oauth-authorization-server`]: 503,
      [INSERTED]: metadataOf(ISSUER),
    });
    expect((await web.find()).as.issuer).toBe(ISSUER);
  });

  verifies('A2', 'skips authorization servers that oauth.issuer does not allow', async () => {
    const web = webOf({
      [PATH_PRM]: { ...PRM, authorization_servers: ['https://other.example', ISSUER] },
      [INSERTED]: metadataOf(ISSUER),
    });
    expect((await web.find({ oauth: settings({ issuer: ISSUER }) })).as.issuer).toBe(ISSUER);
    expect(web.urls()).toEqual([PATH_PRM, INSERTED]);
  });

  it('reads the configured metadata address, and takes its issuer', async () => {
    const authServerMetadataUrl = 'https://as.example/elsewhere.json';
    const web = webOf({ [PATH_PRM]: PRM, [authServerMetadataUrl]: metadataOf('https://as.example/x') });
    expect((await web.find({ oauth: settings({ authServerMetadataUrl }) })).as.issuer).toBe('https://as.example/x');
    const wrong = web.find({ oauth: settings({ authServerMetadataUrl, issuer: ISSUER }) });
    await expect(wrong).rejects.toMatchObject({ code: 'AUTH_REFUSED' });
  });

  verifies('A2', 'applies the rules of 2025-03-26 to a server without metadata', async () => {
    const wellKnown = 'https://mcp.example/.well-known/oauth-authorization-server';
    const web = webOf({ [wellKnown]: metadataOf('https://mcp.example') });
    const found = await web.find();
    expect(found).toMatchObject({ resource: SERVER, as: { issuer: 'https://mcp.example' } });
    expect(found.resourceParameter).toBeUndefined();
    expect((await webOf({}).find()).as.metadata).toMatchObject({
      authorization_endpoint: 'https://mcp.example/authorize',
      token_endpoint: 'https://mcp.example/token',
      registration_endpoint: 'https://mcp.example/register',
    });
  });

  it('does not fall back to older rules if the metadata fails otherwise than with 404', async () => {
    for (const [status, code] of [
      [500, 'UPSTREAM_UNREACHABLE'],
      [429, 'UPSTREAM_UNREACHABLE'],
      [401, 'AUTH_REFUSED'],
    ] as const) {
      const web = webOf({ [PATH_PRM]: status, [ROOT_PRM]: PRM, [INSERTED]: metadataOf(ISSUER) });
      await expect(web.find()).rejects.toMatchObject({ code });
      expect(web.urls()).toEqual([PATH_PRM]);
    }
  });

  it('uses the http form of a WebSocket URL', async () => {
    const web = webOf({ [PATH_PRM]: { ...PRM, resource: 'https://mcp.example/' }, [INSERTED]: metadataOf(ISSUER) });
    expect((await web.find({ serverUrl: 'wss://mcp.example/mcp' })).resource).toBe('https://mcp.example/');
  });

  it('covers a server only by its own origin and whole path segments', async () => {
    const covered = async (resource: string) => {
      const web = webOf({ [PATH_PRM]: { ...PRM, resource }, [INSERTED]: metadataOf(ISSUER) });
      return web.find().then(
        () => true,
        () => false,
      );
    };
    for (const resource of ['https://mcp.example', 'https://mcp.example/', SERVER, `${SERVER}/`]) {
      expect(await covered(resource), resource).toBe(true);
    }
    for (const resource of [
      ...['https://mcp.example/m', 'https://mcp.example/mcp/deeper', 'https://mcp.example:8443/mcp'],
      ...['http://mcp.example/mcp', 'https://evil.example/mcp', `${SERVER}?a=b`, `${SERVER}#x`, 'mcp'],
    ]) {
      expect(await covered(resource), resource).toBe(false);
    }
  });
});
