import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aCall, answers } from '../../core/fixtures.ts';
import { LONGEST_MS, withHooks } from './fixtures.ts';

/** A webhook receiver that answers every request with `answer`. */
async function receiver(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const bodies: string[] = [];
  const heads: IncomingMessage[] = [];
  const server = createServer(async (request, response) => {
    heads.push(request);
    bodies.push(await readText(request));
    answer(request, response);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { bodies, heads, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

verifies('G13', 'a webhook gets a signed POST and denies', async () => {
  const { url, bodies, heads } = await receiver((_, response) => response.end('{"effect":"deny","reason":"Closed"}'));
  const { stage } = withHooks({ beforeCall: [{ url, secret: 'shared-secret', timeoutMs: LONGEST_MS }] });
  await expect(stage(aCall(), answers('done'))).rejects.toMatchObject({
    message: 'A hook denied the call of mcp__demo__echo. Closed.',
  });
  const v1 = createHmac('sha256', 'shared-secret').update(`1700000000.${bodies[0]}`).digest('hex');
  expect(heads[0]).toMatchObject({ method: 'POST', headers: { 'heddle-signature': `t=1700000000,v1=${v1}` } });
  expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ event: 'beforeCall', call: { name: 'mcp__demo__echo' } });
});

verifies('G13', 'a webhook that redirects is not followed, and the call is denied', async () => {
  const secret = await receiver((_, response) => response.end('{}'));
  const { url } = await receiver((_, response) => response.writeHead(307, { location: secret.url }).end());
  const { stage } = withHooks({ beforeCall: [{ url, timeoutMs: LONGEST_MS }] });
  await expect(stage(aCall(), answers('done'))).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: expect.stringContaining('answered with HTTP 307'),
  });
  expect(secret.bodies).toEqual([]);
});

verifies('G13', 'a webhook with 204 allows; with 500, too much output or no answer denies', async () => {
  const answerOf: Record<string, (response: ServerResponse) => void> = {
    '/204': (response) => response.writeHead(204).end(),
    '/500': (response) => response.writeHead(500).end('{}'),
    '/large': (response) => response.end(Buffer.alloc(2 * 1024 * 1024, 0x20)),
    '/none': () => {},
  };
  const { url } = await receiver((request, response) => answerOf[request.url ?? '']?.(response));
  const outcome = (path: string, timeoutMs = LONGEST_MS) =>
    withHooks({ beforeCall: [{ url: new URL(path, url).href, timeoutMs }] })
      .stage(aCall(), answers('done'))
      .then(
        () => 'allowed',
        (thrown: Error) => thrown.message,
      );
  expect(await outcome('/204')).toBe('allowed');
  expect(await outcome('/500')).toContain('answered with HTTP 500');
  expect(await outcome('/large')).toContain('answers with more than 1048576 bytes');
  expect(await outcome('/none', 50)).toContain('did not end within 50 ms');
});

verifies('G13', 'a webhook that names an address that egress forbids is not reached', async () => {
  const { stage } = withHooks({ beforeCall: [{ url: 'http://10.0.0.1/hook' }] });
  await expect(stage(aCall(), answers('done'))).rejects.toMatchObject({
    message: expect.stringContaining('cannot be used: it is not https'),
  });
});
