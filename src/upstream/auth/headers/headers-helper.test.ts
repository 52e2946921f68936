import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { temporaryFolder } from '../../../../test/temporary-heddle.ts';
import { until } from '../../../../test/until.ts';
import { openWatchdog } from '../../../process/watchdog.ts';
import type { Refusal } from '../credential.ts';
import { type HeadersHelperOptions, headersHelper } from './headers-helper.ts';

const URL_OF = new URL('https://mcp.example.com/mcp');
const REQUEST = { method: 'POST', url: URL_OF };
const { signal } = new AbortController();

function helper(command: HeadersHelperOptions['command'], more: Partial<HeadersHelperOptions> = {}) {
  const watchdog = openWatchdog();
  onTestFinished(() => watchdog.close());
  const env = { PATH: process.env.PATH, HEDDLE_SECRET_KEY: 'k', AWS_PROFILE: 'work' };
  return headersHelper({ server: 'demo', url: `${URL_OF.href}?key=hidden`, command, env, watchdog, ...more });
}

const refusal = (sent: Record<string, string>, isRetry = false): Refusal => ({
  ...{ status: 401, challenges: [], headers: {}, url: URL_OF, sent, isRetry },
});

verifies('A4', 'runs the helper by /bin/sh, with the server and its URL in the environment', async () => {
  const variables = ['HEDDLE_SERVER_NAME', 'HEDDLE_SERVER_URL', 'CLAUDE_CODE_MCP_SERVER_NAME'];
  const values = [...variables, 'CLAUDE_CODE_MCP_SERVER_URL', 'AWS_PROFILE', 'HEDDLE_SECRET_KEY'].map(
    (name) => `$${name}`,
  );
  const credential = helper(`printf '{"X-Seen": "%s"}' "${values.join(' ')}"`);
  await credential.prepare?.(signal);
  const url = `${URL_OF.href}?key=hidden`;
  expect(credential.headersFor(REQUEST)).toEqual({ 'x-seen': `demo ${url} demo ${url} work ` });
});

verifies('A4', 'runs a program with arguments, without a shell', async () => {
  const credential = helper(['printf', '{"Authorization": "%s"}', '$HOME; `id`']);
  await credential.prepare?.(signal);
  expect(credential.headersFor(REQUEST)).toEqual({ authorization: '$HOME; `id`' });
});

verifies('A4', 'runs once more after a refusal, and once for all requests that are refused together', async () => {
  const folder = await temporaryFolder();
  const credential = helper(`echo x >> ${folder}/runs; printf '{"Authorization": "t%s"}' $(grep -c x ${folder}/runs)`);
  await credential.prepare?.(signal);
  const sent = credential.headersFor(REQUEST) as Record<string, string>;
  expect(sent).toEqual({ authorization: 't1' });
  const all = await Promise.all([1, 2, 3].map(() => credential.onRefused(refusal(sent), signal)));
  expect([all, credential.headersFor(REQUEST)]).toEqual([[true, true, true], { authorization: 't2' }]);
  expect(await credential.onRefused(refusal(sent), signal)).toBe(true); // A later answer to the same headers.
  expect(await credential.onRefused(refusal({ authorization: 't2' }, true), signal)).toBe(false);
  expect(await readFile(join(folder, 'runs'), 'utf8')).toBe('x\nx\n');
});

verifies('A4', 'has another fingerprint for other headers, which ends a refusal', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'token'), 'one');
  const credential = helper(`printf '{"Authorization": "%s"}' "$(cat ${folder}/token)"`);
  await credential.prepare?.(signal);
  const before = credential.fingerprint?.();
  await credential.prepare?.(signal);
  expect(credential.fingerprint?.()).toBe(before);
  await writeFile(join(folder, 'token'), 'two');
  await credential.prepare?.(signal);
  expect(credential.fingerprint?.()).not.toBe(before);
});

const UNUSABLE: readonly (readonly [what: string, command: string | string[], reason: RegExp])[] = [
  ['garbage', 'echo s3cret-garbage', /printed something other than JSON/],
  ['a list', `echo '["s3cret"]'`, /not an object/],
  ['a number', `echo '{"Authorization": 7}'`, /value is not a string/],
  ['an empty object', `echo '{}'`, /printed no header/],
  ['nothing', 'true', /printed nothing/],
  ['1 MB', 'head -c 1048576 /dev/zero', /printed more than 65536 bytes/],
  ['a line break', String.raw`printf '%s' '{"Authorization": "s3cret\r\nX: y"}'`, /HTTP does not allow/],
  ['an illegal name', `echo '{"a b": "s3cret"}'`, /HTTP does not allow/],
  ['an exit code', `echo '{"Authorization": "s3cret"}'; exit 3`, /exit code 3/],
  ['no program', ['/no/such/helper'], /cannot be started \(ENOENT\)/],
];

for (const [what, command, reason] of UNUSABLE) {
  verifies('A4', `needs a credential if the helper has printed ${what}`, async () => {
    const failure = await helper(command)
      .prepare?.(signal)
      .catch((thrown) => thrown);
    expect(failure).toMatchObject({
      code: 'AUTH_NEEDED',
      delivered: 'no',
      message: expect.stringMatching(reason),
      fix: expect.stringContaining('`headersHelper` of demo'),
    });
    expect(failure.message).toContain('demo (https://mcp.example.com/mcp)');
    expect(JSON.stringify([failure.message, failure.details])).not.toMatch(/s3cret|hidden/);
  });
}

verifies('A4', 'ends a helper that hangs, with its whole process group', async () => {
  const folder = await temporaryFolder();
  const command = `sleep 1000 & echo $! > ${folder}/pid; sleep 1000`;
  const failing = helper(command, { timeoutMs: 300 }).prepare?.(signal);
  await expect(failing).rejects.toMatchObject({ code: 'AUTH_NEEDED', message: expect.stringContaining('300 ms') });
  const pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
  await until('the child of the helper has ended', () => !isAlive(pid));
});

it('ends the helper when the connect is cancelled', async () => {
  const abort = new AbortController();
  const failing = helper('sleep 1000').prepare?.(abort.signal);
  abort.abort();
  await expect(failing).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
