import { describe, expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';

import { verifies } from '../requirements.ts';
import { PROFILE_URI } from '../servers/protected-server.ts';
import { scriptedBrowser } from '../servers/scripted-browser.ts';
import { SDK_CLIENTS } from '../servers/sdk-clients.ts';
import { pageIn, signInGateway, textOf } from '../servers/sign-in-gateway.ts';
import { until } from '../until.ts';

const CALLS = process.env.HEDDLE_TEST_SCALE === 'full' ? 1000 : 100;
const CALLERS = ['ada', 'bob'] as const;

/** Opens a gateway with two callers who have signed in at the server, with an API key each or a token each. */
async function twoCallers(era: 'legacy' | 'modern', hasIssuer: boolean) {
  const opened = await signInGateway({ era, hasIssuer });
  const credentials: Record<string, string> = {};
  for (const name of CALLERS) {
    const credential = await opened.credentialOf(name);
    credentials[name] = credential;
    const browser = scriptedBrowser();
    const shown = await browser.open(pageIn(textOf(await opened.call(credential))));
    const page = hasIssuer
      ? await browser.submit(await browser.submit(shown), { login: name })
      : await browser.submit(shown, { credential });
    const end = await browser.submit(page, { login: `${name}_account` });
    expect(end.body).toContain('Signed in');
  }
  const clientOf = async (name: string) => {
    const connect = SDK_CLIENTS[era === 'modern' ? 1 : 2]?.[1];
    const client = await connect?.({ url: opened.gateway.url, token: credentials[name] ?? '' });
    if (!client) throw new Error('no client');
    onTestFinished(() => client.close());
    return client;
  };
  return { ...opened, credentials, clientOf };
}

describe.each(['legacy', 'modern'] as const)('two callers of a server of the %s era', (era) => {
  describe.each([
    ['API keys', false],
    ['tokens of an issuer', true],
  ] as const)('with %s', (_, hasIssuer) => {
    verifies('A6', `have the right identity in ${CALLS} interleaved calls, and lists of their own`, async () => {
      const { clientOf, server, authorizationServer, call, credentials } = await twoCallers(era, hasIssuer);
      const clients = { ada: await clientOf('ada'), bob: await clientOf('bob') };
      const identities = await Promise.all(
        Array.from({ length: CALLS }, async (__, at) => {
          const name = CALLERS[at % 2] ?? 'ada';
          return [name, textOf((await clients[name].call('mcp__notes__whoami')) as JsonObject)];
        }),
      );
      expect(identities.filter(([name, identity]) => identity !== `${name}_account`)).toEqual([]);
      for (const name of CALLERS) {
        const names = (await clients[name].list())
          .map((tool) => String(tool.name))
          .filter((one) => one.includes('only'));
        expect(names).toEqual([`mcp__notes__only_${name}_account`]);
      }

      const changed: string[] = [];
      for (const name of CALLERS) await clients[name].onToolsChanged(() => changed.push(name));
      await clients.ada.call('mcp__notes__whoami');
      server.addTool('ada_account', 'extra');
      const hasExtra = async (name: (typeof CALLERS)[number]) =>
        (await clients[name].list()).some((tool) => tool.name === 'mcp__notes__extra');
      await until('ada sees her new tool', () => hasExtra('ada'));
      await until('ada is notified', () => changed.includes('ada'));
      expect(await hasExtra('bob')).toBe(false);
      expect(changed).not.toContain('bob');

      const adaToken = server.requests.findLast(({ subject }) => subject === 'ada_account')?.token ?? '';
      await authorizationServer.revokeGrant(adaToken);
      expect(await call(credentials.ada ?? '')).toMatchObject({ isError: true });
      expect(textOf((await clients.bob.call('mcp__notes__whoami')) as JsonObject)).toBe('bob_account');
    });
  });
});

verifies('A6', 'reads of one caller are never answered from the cache of another', async () => {
  const { gateway, credentials } = await twoCallers('modern', false);
  const { modern } = await import('../../src/gateway/fixtures.ts');
  const read = async (name: string) => {
    const [message, headers] = modern('resources/read', { uri: PROFILE_URI });
    const authorization = `Bearer ${credentials[name]}`;
    const { json } = await gateway.post(message, { ...headers, 'mcp-name': PROFILE_URI, authorization });
    return (json.result as { contents?: { text: string }[] } | undefined)?.contents?.[0]?.text ?? json;
  };
  const texts = await Promise.all(['ada', 'bob', 'ada', 'bob'].map(read));
  expect(texts).toEqual(['ada_account', 'bob_account', 'ada_account', 'bob_account']);
});
