import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { openAuthorizationServer } from '../../test/servers/authorization-server.ts';
import { openProtectedServer } from '../../test/servers/protected-server.ts';
import { scriptedBrowser } from '../../test/servers/scripted-browser.ts';
import { temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import { text } from './mcp-results.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';

verifies('A2', 'signs in from a program, and forgets', async () => {
  const authorization = await openAuthorizationServer();
  onTestFinished(() => authorization.close());
  const requiredScopes = ['mcp:read'];
  const server = await openProtectedServer({ era: 'modern', authorizationServers: [authorization], requiredScopes });
  onTestFinished(() => server.close());
  const heddle = await temporaryHeddleClient({ config: { mcpServers: { demo: { type: 'http', url: server.url } } } });
  await expect(heddle.call('demo.whoami')).rejects.toMatchObject({
    code: 'AUTH_NEEDED',
    fix: 'Run `heddle auth login demo`.',
  });
  const { url, state } = await heddle.signIns.begin('demo', { redirect: REDIRECT });
  const redirected = await scriptedBrowser().signIn(url, 'ada', REDIRECT);
  await expect(heddle.signIns.finish('demo', { query: redirected.url, state: 'other' })).rejects.toMatchObject({
    code: 'AUTH_REFUSED',
  });
  await heddle.signIns.finish('demo', { query: redirected.url, state });
  expect(await heddle.signIns.list()).toMatchObject([{ server: 'demo', state: 'signed-in', principal: 'shared' }]);
  expect(text((await heddle.call('demo.whoami')).value)).toBe('ada');
  expect(await heddle.signIns.forget('demo')).toEqual({ server: 'demo', removed: true, revoked: true });
  await expect(heddle.call('demo.whoami')).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
  await expect(heddle.signIns.begin('demo', { redirect: 'http://evil.example/' })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
  });
});
