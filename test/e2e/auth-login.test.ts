import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { scriptedBrowser } from '../servers/scripted-browser.ts';
import { project } from './heddle-command.ts';
import { protectedProject, startCommand } from './signing-in.ts';
import { terminal } from './terminal.ts';

const redirectOf = (url: string) => String(new URL(url).searchParams.get('redirect_uri'));

describe('heddle auth login', () => {
  verifies('A2', 'opens the browser of a user at a terminal, receives the redirect and prints the tools', async () => {
    const { own, opened, server, authorization } = await protectedProject();
    const before = await own.heddle(['call', 'demo.whoami']);
    expect([before.code, before.stderr]).toEqual([4, expect.stringContaining('heddle auth login demo')]);
    const listed = await own.heddle(['list', 'servers']);
    expect(listed.stdout).toMatch(/demo\s+needs-auth[\s\S]*fix: Run `heddle auth login demo`\./);
    const screen = await terminal(own, ['auth', 'login', 'demo'], { rows: 40, cols: 200 });
    const page = await scriptedBrowser().signIn(await opened(), 'ada');
    expect(page.body).toContain('Heddle is signed in to demo.');
    expect(await screen.ended()).toBe(0);
    expect(screen.screen()).toContain(`Signed in to demo at ${authorization.issuer}.`);
    expect(screen.screen()).toContain('mcp__demo__whoami');
    const after = await own.heddle(['call', 'demo.whoami']);
    expect([after.code, after.stdout]).toEqual([0, expect.stringContaining('ada')]);
    expect(authorization.counts.authorize).toBeGreaterThan(0);
    expect((await own.heddle(['list', 'servers'])).stdout).toMatch(/demo\s+not started/);
    expect((await own.heddle(['doctor', 'demo'])).stdout).toContain('tokens of a sign-in are stored');
    expect(server.requests.some(({ subject }) => subject === 'ada')).toBe(true);
  });

  verifies('A2', 'offers the sign-in during a call at a terminal, and runs the call afterwards', async () => {
    const { own, opened } = await protectedProject();
    const screen = await terminal(own, ['call', 'demo.whoami'], { rows: 40, cols: 200 });
    await screen.type('Sign in to demo now? [Y/n]', '');
    await scriptedBrowser().signIn(await opened(), 'ada');
    expect(await screen.ended()).toBe(0);
    expect(screen.screen()).toMatch(/Signed in to demo\.\s+ada/);
  });

  verifies('A1', 'offers no sign-in during a call while a refusal is remembered', async () => {
    const { own, wasOpened } = await protectedProject();
    expect((await own.heddle(['call', 'demo.whoami'])).code).toBe(4);
    const screen = await terminal(own, ['call', 'demo.whoami'], { rows: 40, cols: 200 });
    expect(await screen.ended()).toBe(4);
    expect(screen.screen()).toContain('heddle auth login demo');
    expect(wasOpened()).toBe(false);
  });

  verifies('A2', 'prints the address without a terminal, and takes the pasted query of the redirect', async () => {
    const { own, wasOpened } = await protectedProject();
    const command = await startCommand(own, ['auth', 'login', 'demo', '--json']);
    const url = await command.url();
    const { url: redirected } = await scriptedBrowser().signIn(url, 'bob', redirectOf(url));
    command.write(new URL(redirected).search);
    const { code, stdout, stderr } = await command.ended();
    expect([code, stderr]).toEqual([0, expect.stringContaining('Signed in to demo')]);
    expect(JSON.parse(stdout)).toMatchObject({
      server: 'demo',
      state: 'signed-in',
      principal: 'shared',
      tools: expect.arrayContaining(['mcp__demo__whoami']),
    });
    expect(wasOpened()).toBe(false);
    expect((await own.heddle(['call', 'demo.whoami'])).stdout).toContain('bob');
  });

  verifies('A2', 'opens no browser with --no-browser, and takes a pasted URL at the terminal', async () => {
    const { own, wasOpened } = await protectedProject();
    const screen = await terminal(own, ['auth', 'login', 'demo', '--no-browser'], { rows: 40, cols: 1000 });
    await screen.type('press Enter.', 'https://elsewhere.example/');
    await screen.type('is no redirect of the sign-in to demo.', '');
    const url = String(/^ {2}(https?:\/\/\S+)$/m.exec(screen.screen())?.[1]);
    const { url: redirected } = await scriptedBrowser().signIn(url, 'ada', redirectOf(url));
    await screen.type('', redirected);
    expect(await screen.ended()).toBe(0);
    expect(screen.screen()).toContain('mcp__demo__whoami');
    expect(wasOpened()).toBe(false);
  });

  verifies('A2', 'rejects a redirect that was pasted from another login, and leaves that one usable', async () => {
    const { own } = await protectedProject();
    const first = await startCommand(own, ['auth', 'login', 'demo']);
    const firstUrl = await first.url();
    const second = await startCommand(own, ['auth', 'login', 'demo']);
    const secondUrl = await second.url();
    expect(second.stderr()).toContain('Another sign-in to demo is in progress.');
    const verifiers = [firstUrl, secondUrl].map((url) => new URL(url).searchParams.get('code_challenge'));
    expect(new Set(verifiers).size).toBe(2);
    const { url: redirected } = await scriptedBrowser().signIn(firstUrl, 'ada', redirectOf(firstUrl));
    second.write(redirected);
    expect(await second.ended()).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('belongs to another sign-in'),
    });
    first.write(redirected);
    expect(await first.ended()).toMatchObject({ code: 0 });
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('A2: leaves no record after %s', async (signal) => {
    const { own } = await protectedProject();
    const command = await startCommand(own, ['auth', 'login', 'demo']);
    const url = await command.url();
    command.child.kill(signal);
    expect(await command.ended()).toMatchObject({ code: 130, stderr: expect.stringContaining('was cancelled') });
    const [row] = JSON.parse((await own.heddle(['auth', 'status', '--json'])).stdout);
    expect(row.state).not.toBe('in-progress');
    // The redirect of the cancelled login is of no use to a later one.
    const again = await startCommand(own, ['auth', 'login', 'demo']);
    expect((await again.url()) === url).toBe(false);
    expect(again.stderr()).not.toContain('Another sign-in');
  });

  verifies('A2', 'ends with Ctrl-C at the terminal, and leaves no record', async () => {
    const { own } = await protectedProject();
    const screen = await terminal(own, ['auth', 'login', 'demo', '--no-browser'], { rows: 40, cols: 1000 });
    await screen.type('press Enter.', '\u0003');
    expect(await screen.ended()).toBe(130);
    expect(screen.screen()).toContain('The sign-in to demo was cancelled. Nothing was stored.');
    const [row] = JSON.parse((await own.heddle(['auth', 'status', 'demo', '--json'])).stdout);
    expect(row).toMatchObject({ server: 'demo', state: 'none' });
  });

  verifies(
    'A2',
    'uses the client of `heddle add`, whose secret is typed without an echo and is in no file',
    async () => {
      const client = { client_id: 'known', client_secret: 'a-typed-secret', grant_types: ['authorization_code'] };
      const { own, server, authorization } = await protectedProject({
        clients: [{ ...client, redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native' }],
      });
      const args = ['add', 'other', server.url, '--client-id', 'known', '--client-secret', '--oauth-scope', 'mcp:read'];
      const screen = await terminal(own, [...args, '--no-check'], { rows: 40, cols: 200 });
      await screen.type('Client secret:', 'a-typed-secret');
      expect(await screen.ended()).toBe(0);
      expect(screen.screen()).not.toContain('a-typed-secret');
      const files = [join(own.folder, 'heddle.json'), join(own.home, 'heddle.json')].filter(existsSync);
      const written = files.map((file) => readFileSync(file, 'utf8')).join('\n');
      expect(written).toContain('"clientSecret": "${secret:other.clientSecret}"');
      expect(written).not.toContain('a-typed-secret');
      const command = await startCommand(own, ['auth', 'login', 'other']);
      await scriptedBrowser().signIn(await command.url(), 'ada');
      expect(await command.ended()).toMatchObject({ code: 0 });
      expect(authorization.counts.registration).toBe(0);
    },
  );

  verifies('A2', 'shows the error of the authorization server, escaped, and stores no token', async () => {
    const { own, authorization } = await protectedProject();
    authorization.faults.authorizeError = { error: 'access_denied', error_description: '\u001b[31m<b>no</b>' };
    const command = await startCommand(own, ['auth', 'login', 'demo']);
    await scriptedBrowser().signIn(await command.url(), 'ada');
    const { code, stderr } = await command.ended();
    expect([code, stderr]).toEqual([4, expect.stringContaining('access_denied')]);
    expect(stderr).not.toContain('\u001b[31m');
    expect(authorization.counts.token).toBe(0);
  });

  verifies('A2', 'uses the redirect host localhost for a configured client with a callback port', async () => {
    const port = await freePort();
    const redirect = `http://localhost:${port}/callback`;
    const client = { client_id: 'known', redirect_uris: [redirect], token_endpoint_auth_method: 'none' };
    const oauth = { clientId: 'known', callbackPort: port };
    const { own, authorization } = await protectedProject({
      clients: [{ ...client, grant_types: ['authorization_code', 'refresh_token'], application_type: 'native' }],
      oauth,
    });
    const command = await startCommand(own, ['auth', 'login', 'demo']);
    const url = await command.url();
    expect(redirectOf(url)).toBe(redirect);
    await scriptedBrowser().signIn(url, 'ada');
    expect(await command.ended()).toMatchObject({ code: 0 });
    expect(authorization.counts.registration).toBe(0);
  });

  verifies('A2', 'names a configured callback port that another program uses', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { own } = await protectedProject({ oauth: { clientId: 'known', callbackPort: port } });
    const { code, stderr } = await own.heddle(['auth', 'login', 'demo']);
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining(String(port))]);
    expect(code).not.toBe(0);
  });

  verifies(
    'A2',
    'reuses a registration and its port, and registers anew while another program uses the port',
    async () => {
      const { own, authorization } = await protectedProject();
      const first = await startCommand(own, ['auth', 'login', 'demo']);
      const url = await first.url();
      await scriptedBrowser().signIn(url, 'ada');
      await first.ended();
      const second = await startCommand(own, ['auth', 'login', 'demo']);
      const again = await second.url();
      expect(redirectOf(again)).toBe(redirectOf(url));
      expect(authorization.counts.registration).toBe(1);
      const third = await startCommand(own, ['auth', 'login', 'demo']); // The second one holds the port.
      const other = await third.url();
      expect(redirectOf(other)).not.toBe(redirectOf(url));
      expect(authorization.counts.registration).toBe(2);
      for (const [command, address] of [[second, again] as const, [third, other] as const]) {
        await scriptedBrowser().signIn(address, 'ada');
        expect(await command.ended()).toMatchObject({ code: 0 });
      }
    },
  );
});

describe('heddle auth', () => {
  verifies('A2', 'shows the sign-ins, and removes and revokes tokens on logout', async () => {
    const { own, authorization } = await protectedProject();
    const command = await startCommand(own, ['auth', 'login', 'demo']);
    await scriptedBrowser().signIn(await command.url(), 'ada');
    await command.ended();
    const shown = await own.heddle(['auth', 'status']);
    expect(shown.stdout).toMatch(/demo\s+signed in\s+shared/);
    const out = await own.heddle(['auth', 'logout', 'demo']);
    expect([out.code, out.stdout]).toEqual([0, 'Signed out of demo. Its tokens are removed and revoked.\n']);
    expect(authorization.counts.revocation).toBeGreaterThan(0);
    const call = await own.heddle(['call', 'demo.whoami']);
    expect([call.code, call.stderr]).toEqual([4, expect.stringContaining('heddle auth login demo')]);
    expect((await own.heddle(['auth', 'logout', 'demo'])).stdout).toBe('There was no sign-in to demo.\n');
  });

  verifies('A1', 'lets a running gateway use a sign-in that a command made', async () => {
    const { own } = await protectedProject();
    await own.up();
    const before = await own.heddle(['call', '-v', 'demo.whoami']);
    expect([before.code, before.stderr]).toEqual([4, expect.stringContaining('Using the gateway')]);
    const command = await startCommand(own, ['auth', 'login', 'demo']);
    await scriptedBrowser().signIn(await command.url(), 'ada');
    expect(await command.ended()).toMatchObject({ code: 0 });
    const after = await own.heddle(['call', '-v', 'demo.whoami']);
    expect([after.code, after.stdout, after.stderr]).toEqual([
      0,
      expect.stringContaining('ada'),
      expect.stringContaining('Using the gateway'),
    ]);
  });

  verifies('A3', 'seals the tokens with another key on rekey, and reports those of an unknown key', async () => {
    const { own } = await protectedProject();
    const command = await startCommand(own, ['auth', 'login', 'demo']);
    await scriptedBrowser().signIn(await command.url(), 'ada');
    await command.ended();
    const moved = await own.heddle(['auth', 'rekey'], { env: { HEDDLE_SECRET_KEY: 'another passphrase' } });
    expect([moved.code, moved.stdout]).toEqual([
      0,
      expect.stringMatching(/records? (is|are) sealed anew with the key/),
    ]);
    const lost = await own.heddle(['auth', 'rekey', '--json'], { env: { HEDDLE_SECRET_KEY: 'a third one' } });
    expect(lost.code).toBe(3);
    expect(JSON.parse(lost.stdout).unopened).not.toEqual([]);
    const unread = await own.heddle(['auth', 'status', '--json'], { env: { HEDDLE_SECRET_KEY: 'a third one' } });
    const [{ key }] = JSON.parse(lost.stdout).unopened;
    expect(JSON.parse(unread.stdout)).toMatchObject([{ state: 'needed', reason: expect.stringContaining(key) }]);
    const call = await own.heddle(['call', 'demo.whoami'], { env: { HEDDLE_SECRET_KEY: 'another passphrase' } });
    expect([call.code, call.stdout]).toEqual([0, expect.stringContaining('ada')]);
  });

  it.each([
    [['auth'], 2, 'Use `heddle auth login`'],
    [['auth', 'lgin', 'demo'], 2, 'Did you mean `heddle auth login`?'],
    [['auth', 'login'], 2, 'takes the name of one server'],
    [['auth', 'login', 'dmo'], 2, 'Did you mean demo?'],
    [['auth', 'login', 'fixed'], 2, 'its credential is in its `headers`'],
    [['auth', 'login', 'local'], 2, 'it is not reached by a URL'],
    [['auth', 'rekey', 'demo'], 2, 'takes no server'],
  ])('A2: %j ends with %i and says: %s', async (args, code, message) => {
    const headers = { Authorization: 'Bearer x' };
    const mcpServers = {
      demo: { url: 'http://127.0.0.1:1/mcp' },
      fixed: { url: 'http://127.0.0.1:1/mcp', headers },
      local: { command: 'true' },
    };
    const outcome = await project({ 'heddle.json': { mcpServers } }).heddle(args);
    expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
