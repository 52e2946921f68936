import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { toConnectFailure, toFailure } from './failure.ts';

const hostile = '\u0001'.repeat(15_000_000);

verifies('F3', 'the message of an error response is cut, and reaches the client whole', () => {
  const refused = new RpcError(-32000, hostile);
  const failure = toFailure('demo', refused);
  expect(failure.message).toHaveLength(10_000);
  expect(failure.details.rpc).toMatchObject({ code: -32000 });
  expect((failure.details.rpc as { message: string }).message === hostile).toBe(true);
  expect(toConnectFailure('demo', refused).message.length).toBeLessThan(10_100);
  expect(toFailure('demo', new RpcError(-32000, 'short')).message).toBe('short');
});
