import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { temporaryFolder } from '../../test/temporary-heddle.ts';
import { challengeIn, proofOf } from './auth/gateway-proof.ts';
import { gatewayToken } from './auth/gateway-token.ts';
import { gatewayUnderTest, TOKEN } from './fixtures.ts';
import { announceGateway, connectToGateway, findGateway, updateDigest, withdrawGateway } from './running-gateway.ts';

const { pid } = process;
const note = { url: 'http://127.0.0.1:1/mcp', token: 't', pid, project: '/p', proofKey: 'k' };

describe('findGateway', () => {
  verifies('L7', 'finds an announced gateway until it is withdrawn, by a note with mode 0600', async () => {
    const home = await temporaryFolder();
    await writeFile(join(home, 'gateway.json'), 'old', { mode: 0o644 });
    const { url } = await gatewayUnderTest({ gateway: { proofKey: note.proofKey } });
    await announceGateway(home, { ...note, url });
    expect((await stat(join(home, 'gateway.json'))).mode & 0o777).toBe(0o600);
    expect(await findGateway(home)).toEqual({ ...note, url });
    await withdrawGateway(home, pid);
    expect(await findGateway(home)).toBeUndefined();
    await expect(stat(join(home, 'gateway.json'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  verifies('L7', 'does not withdraw the note of another gateway', async () => {
    const home = await temporaryFolder();
    await announceGateway(home, { ...note, pid: pid + 1 });
    await withdrawGateway(home, pid);
    expect(await readFile(join(home, 'gateway.json'), 'utf8')).toContain('"token":"t"');
  });

  verifies('L7', 'changes the digest of its own note only', async () => {
    const home = await temporaryFolder();
    const digestOf = async () => JSON.parse(await readFile(join(home, 'gateway.json'), 'utf8')).digest;
    await announceGateway(home, { ...note, digest: 'before' });
    await updateDigest(home, { ...note, pid: pid + 1 }, 'of another');
    expect(await digestOf()).toBe('before');
    await updateDigest(home, note, 'after');
    expect(await digestOf()).toBe('after');
  });

  it.each([
    ['with broken JSON', '{"url":'],
    ['without a token', '{"url":"http://x"}'],
    ['with a list', '[]'],
    ['without a proof key', JSON.stringify({ ...note, proofKey: undefined })],
    ['with a closed port', JSON.stringify(note)],
    ['with the pid of an ended process', JSON.stringify({ ...note, pid: 2 ** 22 + 1 })],
    ['with a pid that is no number', JSON.stringify({ ...note, pid: 'me' })],
  ])('L7: ignores a note %s', async (_, text) => {
    const home = await temporaryFolder();
    await writeFile(join(home, 'gateway.json'), text);
    expect(await findGateway(home)).toBeUndefined();
  });
});

/** Starts an HTTP server that records the requests and the connections it gets. */
async function listener(respond: (request: IncomingMessage, response: ServerResponse) => void) {
  const requests: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(`${request.url} ${JSON.stringify(request.rawHeaders)}`);
    respond(request, response);
  });
  server.on('connection', () => (connections += 1));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { url, requests: () => requests.join('\n'), connections: () => connections };
}

const proofKey = 'key-of-this-start';

describe('findGateway reports', () => {
  verifies('L7', 'a gateway that does not respond in time, with its URL and pid', async () => {
    const silent = await listener(() => {});
    const home = await temporaryFolder();
    await announceGateway(home, { ...note, url: silent.url });
    const reports: string[] = [];
    const report = (message: string) => reports.push(message);
    expect(await findGateway(home, { report, waitMs: 100 })).toBeUndefined();
    expect(reports).toEqual([`The gateway at ${silent.url} (pid ${pid}) did not answer within 0.1 s.`]);
  });

  verifies('L7', 'neither a closed port nor a wrong proof', async () => {
    const wrong = await listener((_, response) => void response.end('{"proof":"x"}'));
    const reports: string[] = [];
    for (const url of [note.url, wrong.url]) {
      const home = await temporaryFolder();
      await announceGateway(home, { ...note, url });
      expect(await findGateway(home, { report: (message) => reports.push(message) })).toBeUndefined();
    }
    expect(reports).toEqual([]);
  });
});

/** Reads the version of a gateway over a proven connection, with a token. */
async function versionOf(running: Parameters<typeof connectToGateway>[0]): Promise<number | undefined> {
  const connection = await connectToGateway(running);
  const headers = { authorization: `Bearer ${running.token}` };
  const response = await connection?.request('/api/version', { headers });
  response?.resume();
  connection?.close();
  return response?.statusCode;
}

describe('connectToGateway', () => {
  verifies('L7', 'connects to the gateway of the note, and to no other process', async () => {
    const { url } = await gatewayUnderTest({ gateway: { proofKey } });
    const running = { url, token: TOKEN, pid, project: '/', proofKey };
    expect(await versionOf(running)).toBe(200);
    expect(await versionOf({ ...running, token: 'wrong' })).toBe(401);
    expect(await versionOf({ ...running, proofKey: 'other' })).toBeUndefined();
    expect(await versionOf({ ...running, url: 'http://127.0.0.1:1/mcp' })).toBeUndefined();
  });

  verifies(
    'P4',
    'does not send the token to a process that relays the proof of a gateway on another port',
    async () => {
      const gateway = await gatewayUnderTest({ gateway: { proofKey } });
      const relay = await listener(async (request, response) => {
        const { text } = await gateway.send({ method: 'GET', path: request.url ?? '', headers: { host: 'localhost' } });
        response.end(text);
      });
      const running = { url: relay.url, token: TOKEN, pid, project: '/', proofKey };
      expect(await versionOf(running)).toBeUndefined();
      expect(relay.requests()).toContain('/healthz?challenge=');
      expect(relay.requests()).not.toContain(TOKEN);
    },
  );

  verifies('P4', 'does not send the token on another connection than the one that was proven', async () => {
    const closing = await listener((request, response) => {
      const proof = proofOf({ url: closing.url, proofKey }, challengeIn(request.url) ?? '');
      response.setHeader('connection', 'close').end(JSON.stringify({ status: 'ok', proof }));
    });
    const running = { url: closing.url, token: TOKEN, pid, project: '/', proofKey };
    await expect(versionOf(running)).rejects.toThrow();
    expect([closing.connections(), closing.requests()]).toEqual([1, expect.not.stringContaining(TOKEN)]);
  });
});

describe('gatewayToken', () => {
  verifies('P4', 'returns the preset token, else one that is created once with mode 0600', async () => {
    const home = join(await temporaryFolder(), 'home');
    expect(await gatewayToken(home, 'preset')).toBe('preset');
    const made = await gatewayToken(home, undefined);
    expect(made).toMatch(/^[\w-]{32}$/);
    expect(await gatewayToken(home, '')).toBe(made);
    expect((await stat(join(home, 'gateway-token'))).mode & 0o777).toBe(0o600);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect(await gatewayToken(join(home, 'other'), undefined)).not.toBe(made);
  });
});
