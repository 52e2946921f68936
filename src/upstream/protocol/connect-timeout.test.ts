import { expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { ServerEntry } from '../../config/schema/schema.ts';
import { openWatchdog } from '../../process/watchdog.ts';
import { entryOf, never, serverOf, tinyServer } from '../fixtures.ts';
import { planServer } from '../lifecycle/plan-server.ts';
import { httpPool } from '../transports/http-pool.ts';
import { connectTimeoutOf } from './connect-timeout.ts';

const local = (command: string, ...args: string[]) => entryOf<ServerEntry>({ command, args });

verifies('T3', 'waits 15 s for a server, and 60 s for a command that may install it', () => {
  const quick = [local('node', 'server.js'), local('docker', 'ps'), local('uv', '--version'), local('pnpm', 'start')];
  expect(quick.map((entry) => connectTimeoutOf(entry, undefined))).toEqual(quick.map(() => 15_000));
  expect(connectTimeoutOf(entryOf({ url: 'http://127.0.0.1/mcp' }), undefined)).toBe(15_000);
  const slow = [
    local('npx', '-y', 'server'),
    local('/usr/local/bin/uvx', 'server'),
    local('bunx', 'server'),
    local('pnpm', '--silent', 'dlx', 'server'),
    local('yarn', 'dlx', 'server'),
    local('pipx', 'run', 'server'),
    local('docker', 'run', '-i', 'image'),
    local('cmd', '/c', 'npx', '-y', 'server'),
    local('C:\\node\\npx.cmd', '-y', 'server'),
    local('sh', '-c', 'exec npx -y server'),
  ];
  expect(slow.map((entry) => connectTimeoutOf(entry, undefined))).toEqual(slow.map(() => 60_000));
});

verifies('C3', 'takes the deadline of the entry before that for all servers, and both before the default', () => {
  const own = entryOf<ServerEntry>({ command: 'npx', connectTimeoutMs: 90_000 });
  expect([own, local('npx'), local('node')].map((entry) => connectTimeoutOf(entry, 5000))).toEqual([
    90_000, 5000, 5000,
  ]);
});

verifies('C14', 'reads `connect.timeoutMs` anew for each connect', () => {
  let forAll: number | undefined = 1000;
  const [watchdog, pool] = [openWatchdog(), httpPool()];
  const options = { watchdog, pool, env: {}, inProcess: new Map(), connectTimeoutMs: () => forAll };
  const plan = planServer({ name: 'x', scope: 'project', entry: local('node'), shadowed: [] }, options);
  expect(plan.connectTimeoutMs).toBe(1000);
  forAll = 2000;
  expect(plan.connectTimeoutMs).toBe(2000);
  watchdog.close();
});

for (const [method, task] of [
  ['initialize', 'answer the handshake'],
  ['tools/list', 'list its tools'],
]) {
  verifies('T3', `states the deadline and its key when a server does not ${task}`, async () => {
    vi.useFakeTimers();
    try {
      const { server } = serverOf(tinyServer({ [String(method)]: never }));
      const connecting = server.connect(new AbortController().signal).catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(15_000);
      expect(await connecting).toMatchObject({
        code: 'UPSTREAM_TIMEOUT',
        message: `demo did not ${task} within 15000 ms.`,
        fix: 'Raise `connectTimeoutMs` of demo, or `connect.timeoutMs` for all servers, if it needs longer.',
      });
    } finally {
      vi.useRealTimers();
    }
  });
}

it('has one deadline for all servers in process', () => {
  expect(connectTimeoutOf(entryOf({ type: 'sdk', name: 'x' }), undefined)).toBe(15_000);
});
