import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import type { OpenRedirect, RedirectNeed } from '../../src/core/records/sign-in.ts';
import type { Heddle } from '../../src/heddle.ts';
import { verifies } from '../requirements.ts';
import { scriptedBrowser } from '../servers/scripted-browser.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';
import { protectedSetup } from './send-with-credential.ts';

// Failures of other clients. Each test fails without the rule of Heddle that prevents it.

const HOUR = 3_600_000;
const owner = { id: 'local:tester', roles: ['owner' as const], via: 'cli' as const };
const signal = new AbortController().signal;
const REDIRECT = 'http://127.0.0.1:9/callback';

/** Starts a protected server, and opens Heddles that share one home, each with a clock of its own. */
async function sharedHome(
  options: Parameters<typeof protectedSetup>[0] = {},
  fields: JsonObject = { oauth: { scopes: ['mcp:read'] } },
) {
  const { as, server } = await protectedSetup(options);
  const folder = await temporaryFolder();
  const config = { mode: 'open', mcpServers: { demo: { type: 'http', url: server.url, ...fields } } };
  const open = (time = { offset: 0 }) =>
    temporaryHeddle({ folder, config, env: { PATH: process.env.PATH }, clock: () => Date.now() + time.offset });
  return { as, server, folder, open };
}

async function call(heddle: Heddle): Promise<unknown> {
  const result = await heddle.dispatch({
    ...{ id: randomUUID(), kind: 'tool', name: 'demo.whoami', input: {}, meta: {}, caller: owner, options: {} },
    signal: AbortSignal.timeout(60_000),
  });
  return JSON.parse(JSON.stringify(result));
}

const isAda = (result: unknown) => expect(JSON.stringify(result)).toContain('"text":"ada"');

const begin = (heddle: Heddle, redirect: string | OpenRedirect = REDIRECT) =>
  heddle.signIns.begin(owner, 'demo', { redirect, signal });

async function finish(heddle: Heddle, begun: Awaited<ReturnType<typeof begin>>): Promise<void> {
  const page = await scriptedBrowser().signIn(begun.url, 'ada', begun.redirectUri);
  await heddle.signIns.finish(owner, 'demo', { query: new URL(page.url).search, signal });
}

const signIn = async (heddle: Heddle, redirect?: string | OpenRedirect) =>
  finish(heddle, await begin(heddle, redirect));

/** Returns an access token of the client `ada`. */
async function machineToken(issuer: string, resource: string): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('ada:secret')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope: 'mcp:read' }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

verifies('A4', 'runs the headers helper again after a 401 (claude-code#82070)', async () => {
  const file = join(await temporaryFolder(), 'token');
  const headersHelper = `printf '{"Authorization":"Bearer %s"}' "$(cat ${file})"`;
  const grants = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
  const clients = [{ client_id: 'ada', client_secret: 'secret', ...grants }];
  const { as, server, open } = await sharedHome({ clients }, { headersHelper });
  const [first, second] = [await machineToken(as.issuer, server.url), await machineToken(as.issuer, server.url)];
  writeFileSync(file, first);
  const heddle = await open();
  isAda(await call(heddle));
  server.faults.refuses = (token) => token === first;
  writeFileSync(file, second);
  isAda(await call(heddle));
});

verifies('A2', 'gives each of two sign-ins a verifier of its own (mcp-remote#235)', async () => {
  const { as, open } = await sharedHome();
  const heddle = await open();
  const one = await begin(heddle);
  const two = await begin(heddle, 'http://127.0.0.1:9/second');
  await finish(heddle, one);
  await finish(heddle, two);
  const challenges = as.authorizeRequests.map((query) => query.get('code_challenge'));
  expect(new Set(challenges).size).toBe(2);
  isAda(await call(heddle));
});

verifies('A3', 'keeps the secret of a registration for the refresh of another process (codex#43216)', async () => {
  const { as, open } = await sharedHome();
  as.faults.metadataFields = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
  await signIn(await open());
  isAda(await call(await open({ offset: HOUR })));
  expect(as.tokenRequests.at(-1)?.params.grant_type).toBe('refresh_token');
  expect(as.tokenRequests.at(-1)?.headers.authorization).toMatch(/^Basic /);
});

verifies('A3', 'keeps the expiry of a token: a later process sends no expired one (mcp2cli#57)', async () => {
  const { server, open } = await sharedHome();
  const heddle = await open();
  await signIn(heddle);
  isAda(await call(heddle));
  const old = server.requests.at(-1)?.token;
  const before = server.requests.length;
  isAda(await call(await open({ offset: HOUR })));
  expect(server.requests.slice(before).map(({ token }) => token)).not.toContain(old);
});

verifies('A3', 'sends `resource` with a refresh, as with the code', async () => {
  const { as, server, open } = await sharedHome();
  await signIn(await open());
  isAda(await call(await open({ offset: HOUR })));
  expect(as.tokenRequests.map(({ params }) => [params.grant_type, params.resource])).toEqual([
    ['authorization_code', server.resource],
    ['refresh_token', server.resource],
  ]);
});

verifies('A2', 'listens on the port of its registration again, and registers once (mcp2cli#54)', async () => {
  const { as, open } = await sharedHome();
  const heddle = await open();
  const needs: RedirectNeed[] = [];
  const redirect: OpenRedirect = async (need) => {
    needs.push(need);
    return `http://127.0.0.1:${need.port ?? 54_321}/callback`;
  };
  await signIn(heddle, redirect);
  await signIn(heddle, redirect);
  expect(needs.map(({ port }) => port)).toEqual([undefined, 54_321]);
  expect(as.counts.registration).toBe(1);
});

verifies('A3', 'uses the tokens of another process after a 401, without a prompt (claude-code#91641)', async () => {
  const { as, server, open } = await sharedHome();
  const time = { offset: 0 };
  const [stale, other] = [await open(), await open(time)];
  await signIn(stale);
  isAda(await call(stale));
  const old = server.requests.at(-1)?.token;
  time.offset = HOUR;
  isAda(await call(other));
  const before = as.counts.token;
  server.faults.refuses = (token) => token === old;
  isAda(await call(stale));
  expect(as.counts.token).toBe(before);
});
