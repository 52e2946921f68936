import { expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { talk } from '../../src/wire/fixtures.ts';
import { verifies } from '../requirements.ts';

verifies('T6', 'an invalid response fails its request at once and names what came back', async () => {
  const { peer, receive } = await talk();
  const error = { code: -32000, message: 'no' };
  const invalid: [JsonObject, string][] = [
    [{ result: null }, 'the result null and no error'],
    [{}, 'the result (none) and no error'],
    [{ result: 'text' }, 'the result "text" and no error'],
    [{ result: [1] }, 'the result [1] and no error'],
    [{ result: null, error: null }, 'the result null and no error'],
    [{ result: {}, error }, 'both a result and an error'],
  ];
  for (const [at, [body, found]] of invalid.entries()) {
    const answer = peer.request('tools/call', {}, { deadlineMs: 1_000_000_000 });
    receive({ jsonrpc: '2.0', id: at + 1, ...body });
    await expect(answer).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      delivered: 'maybe',
      message: `demo answered tools/call with an invalid JSON-RPC response: it has ${found}.`,
    });
  }
  expect(peer.dropped).toEqual({ stale: 0, unknown: 0, malformed: invalid.length });
});

verifies('T6', 'a null beside the result or the error of an older server is ignored', async () => {
  const { peer, receive } = await talk();
  const answers = [peer.request('a', {}, { deadlineMs: 120_000 }), peer.request('b', {}, { deadlineMs: 120_000 })];
  receive({ jsonrpc: '2.0', id: 1, result: { a: 1 }, error: null });
  receive({ jsonrpc: '2.0', id: 2, result: null, error: { code: -32000, message: 'no' } });
  await expect(answers[0]).resolves.toEqual({ a: 1 });
  await expect(answers[1]).rejects.toMatchObject({ name: 'RpcError', code: -32000 });
});
