import { afterAll, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { ServerConfig } from '../../config/config.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { openWatchdog } from '../../process/watchdog.ts';
import { entryOf, tinyServer } from '../fixtures.ts';
import { httpPool } from '../transports/http-pool.ts';
import { planServer } from './plan-server.ts';

const [watchdog, pool] = [openWatchdog(), httpPool()];
afterAll(async () => {
  watchdog.close();
  await pool.close();
});

const options = { watchdog, pool, env: {}, inProcess: new Map([['mine', tinyServer().serve]]) };
const planOf = (written: JsonObject, more: Partial<ServerConfig> = {}) =>
  planServer({ name: 'demo', scope: 'project', entry: entryOf(written), shadowed: [], ...more }, options);

it('plans a server of each transport without starting it', () => {
  const stdio = planOf({ command: 'no-such-program', autoConnect: true, reconnect: { delayMs: 7 } });
  expect(stdio).toMatchObject({ name: 'demo', scope: 'project', transport: 'stdio', sandbox: 'none', local: true });
  expect(stdio).toMatchObject({
    autoConnect: true,
    reconnect: { maxAttempts: 3, delayMs: 7 },
    connect: expect.any(Function),
  });
  const http = planOf({ url: 'http://127.0.0.1:1/' });
  expect(http).toMatchObject({ transport: 'http', local: false, autoConnect: false, reconnect: { delayMs: 5000 } });
  expect(http.connect).toBeTypeOf('function');
  for (const type of ['sse', 'ws', 'sse-ide', 'ws-ide']) {
    const url = type.startsWith('ws') ? 'ws://localhost' : 'http://localhost';
    expect(planOf({ type, url })).toMatchObject({ transport: type, local: false, connect: expect.any(Function) });
  }
  expect(planOf({ type: 'sdk', name: 'mine' })).toMatchObject({ transport: 'in-process', local: false });
  expect(planOf({ type: 'sdk', name: 'mine' }).connect).toBeTypeOf('function');
});

it('changes the signature with the command or URL only', () => {
  const { signature } = planOf({ command: 'a', args: ['x'] });
  expect(planOf({ command: 'a', args: ['x'], priority: 3 }).signature).toBe(signature);
  expect(planOf({ command: 'a', args: ['y'] }).signature).not.toBe(signature);
  expect(planOf({ command: 'a', args: ['secret-token'] }).signature).not.toContain('secret-token');
});

const OBSTACLES = [
  ['is disabled', { command: 'x', enabled: false }, 'SERVER_DISABLED', /^demo is disabled/],
  ['asks for a sandbox', { command: 'x', sandbox: {} }, 'SANDBOX_UNAVAILABLE', /asks for a sandbox/],
  ['names no in-process server', { type: 'sdk', name: 'other' }, 'TRANSPORT_UNSUPPORTED', /is named other/],
  ['is an IDE elsewhere', { type: 'ws-ide', url: 'ws://x/' }, 'CONFIG_INVALID', /has to be on this machine/],
  [
    'is behind no connector',
    { type: 'proxy', url: 'https://x/' },
    'CONFIG_INVALID',
    /no connector has the origin https:\/\/x/,
  ],
] as const;

for (const [what, written, code, message] of OBSTACLES) {
  verifies('T2', `has an error with the reason for a server that ${what}`, () => {
    const { connect } = planOf(written as JsonObject);
    expect(HeddleError.is(connect)).toBe(true);
    expect(connect).toMatchObject({ code, message: expect.stringMatching(message), fix: expect.stringMatching(/\.$/) });
  });
}

verifies('S1', 'plans an unsandboxed server only when its entry allows it, and reports it', () => {
  const plan = planOf({ command: 'x', sandbox: { required: false } });
  expect(plan.sandbox).toBe('unsandboxed');
  expect(plan.connect).toBeTypeOf('function');
});

verifies('C10', 'throws the problem of a broken entry when the server is connected', () => {
  const at = { file: '/p/heddle.json', line: 3, column: 5 };
  const problem = { level: 'error', code: 'VARIABLE_UNSET', message: 'TOKEN is not set.', fix: 'Set it.', at } as const;
  const { entry: _, ...config } = { name: 'demo', scope: 'user', entry: undefined, shadowed: [], problem } as const;
  const plan = planServer(config, options);
  expect(plan).toMatchObject({ transport: 'unknown', signature: '', autoConnect: false, local: false });
  const message = 'TOKEN is not set. (/p/heddle.json:3:5)';
  expect(plan.connect).toMatchObject({ code: 'VARIABLE_UNSET', message, fix: 'Set it.' });
});
