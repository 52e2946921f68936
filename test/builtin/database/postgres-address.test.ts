import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, vi } from 'vitest';
import type { ConnectionOptions } from '../../../src/builtin/database/database.ts';
import { openPostgresDatabase } from '../../../src/builtin/database/postgres/open-postgres-database.ts';
import { verifies } from '../../requirements.ts';
import { until } from '../../until.ts';

const ASK_FOR_PASSWORD = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);
const never = new AbortController().signal;

/** A server that asks for a password in clear text and records what it gets. */
let server: Server;
let received: string[];
let sockets: Set<Socket>;

beforeEach(async () => {
  received = [];
  sockets = new Set();
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.once('data', (startup) => {
      received.push(startup.toString('latin1'));
      socket.write(ASK_FOR_PASSWORD);
      socket.once('data', (password) => {
        received.push(password.toString('latin1'));
        socket.end();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const portOf = () => (server.address() as { port: number }).port;
const connection = (change: Partial<ConnectionOptions>): ConnectionOptions => ({
  name: 'shop',
  type: 'postgres',
  access: 'read',
  allowDdl: false,
  allowPrivilegedRole: false,
  allowFunctions: [],
  ...change,
});
const failureOf = (change: Partial<ConnectionOptions>) =>
  openPostgresDatabase(connection(change), never).then(
    () => 'open',
    (error) => error,
  );

verifies('B2', 'sends no credential of the environment or of pgpass to a configured host', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-pgpass-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'pgpass'), '*:*:*:*:env-pgpass\n', { mode: 0o600 });
  vi.stubEnv('PGPASSWORD', 'env-password');
  vi.stubEnv('PGUSER', 'env-user');
  vi.stubEnv('PGDATABASE', 'env-database');
  vi.stubEnv('PGOPTIONS', '-c env.option=1');
  vi.stubEnv('PGREPLICATION', 'env-replication');
  vi.stubEnv('PGAPPNAME', 'env-name');
  vi.stubEnv('PGSSLNEGOTIATION', 'direct');
  vi.stubEnv('PGPASSFILE', join(folder, 'pgpass'));
  const address = { host: '127.0.0.1', port: portOf() };
  const failure = await failureOf({ ...address, username: 'reader' });
  expect(failure).toMatchObject({
    code: 'CONNECTION_FAILED',
    message: expect.stringContaining('asks for a password, and none is set'),
  });
  await until('the socket is closed', () => sockets.size === 0);
  expect(received).toHaveLength(1);
  expect(received[0]).toContain('user\0reader\0database\0reader\0application_name\0heddle\0client_encoding\0UTF8\0\0');
  expect(received.join()).not.toContain('env');
  expect(await failureOf(address)).toMatchObject({ message: expect.stringContaining('it names no user') });
});

verifies('B2', 'sends the configured password, from the field or from the URL', async () => {
  const address = { host: '127.0.0.1', port: portOf(), database: 'd' };
  for (const change of [
    { ...address, username: 'reader', password: 'p@ss' },
    { url: `postgres://reader:p%40ss@127.0.0.1:${portOf()}/d` },
  ]) {
    received = [];
    expect(await failureOf(change)).toMatchObject({ code: 'CONNECTION_FAILED' });
    expect(received[0]).toContain('user\0reader\0database\0d\0');
    expect(received[1]).toContain('p@ss\0');
  }
});

verifies('B2', 'connects to nothing with a URL or a name that would steer the driver', async () => {
  const url = `postgres://reader@127.0.0.1:${portOf()}/d`;
  for (const change of [
    { url: `postgres://reader@good.example.com/d?host=127.0.0.1&port=${portOf()}` },
    { url: `${url}?sslcert=/etc/secret-cert.pem&sslkey=/secret` },
    { url: `${url}?sslmode=disable`, ssl: true },
    { url: `${url}?options=-c%20x.y%3Dz` },
    { url: 'postgres://u:p@ss:word@127.0.0.1:x/db' },
    { host: '127.0.0.1', port: portOf(), username: 'u\0replication\0true' },
  ]) {
    const failure = await failureOf(change);
    expect(failure).toMatchObject({ name: 'DatabaseFailure', code: 'CONNECTION_FAILED' });
    expect(failure.message).toMatch(/^The connection "shop" cannot be used: .*\. Correct its settings\.$/);
    expect(failure.message).not.toMatch(/secret|127|example/);
  }
  expect(received).toEqual([]);
});
