import { expect } from 'vitest';
import type { Call, JsonObject, Result } from '../../src/core/call.ts';
import { aCall, text } from '../../src/core/fixtures.ts';
import { openContinuations } from '../../src/gateway/continuations/continuations.ts';
import { callRunner } from '../../src/gateway/methods/run-call.ts';
import type { SendClientRequest } from '../../src/gateway/request-context.ts';
import type { Heddle } from '../../src/heddle.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { verifies } from '../requirements.ts';

const CAPABILITIES = { form: true, url: true, sampling: true, samplingTools: false, roots: true };
const continuation = { kind: 'upstream', server: 'demo', state: 's' } as const;
const elicits = (params: JsonObject): Result => ({
  kind: 'input-required',
  inputRequests: { it: { method: 'elicitation/create', params } },
  continuation,
});

/** Runs a call of a legacy client. The server gives these results one after the other. */
async function run(
  results: readonly ((call: Call) => Result)[],
  sendRequest: SendClientRequest,
  more: Partial<Call> = {},
) {
  const seen: Call[] = [];
  const dispatch = async (call: Call) => {
    seen.push(call);
    return (results[seen.length - 1] as (call: Call) => Result)(call);
  };
  const heddle = { dispatch } as unknown as Heddle;
  const runCall = callRunner(heddle, openContinuations(heddle));
  const call = aCall({ capabilities: CAPABILITIES, ...more });
  const { caller, signal } = call;
  const value = await runCall(call, {
    id: 1,
    era: 'legacy',
    caller,
    signal,
    notify: () => true,
    capabilities: CAPABILITIES,
    sendRequest,
  });
  return { value, seen };
}

verifies('P3', 'progress of a legacy client never decreases when its call continues', async () => {
  const reported: unknown[] = [];
  const onProgress = ({ progress }: JsonObject) => reported.push(progress);
  const counting = (to: number, result: Result) => (call: Call) => {
    for (let at = 1; at <= to; at++) call.onProgress?.({ progress: at });
    return result;
  };
  await run([counting(2, elicits({ message: '?' })), counting(4, text('done'))], async () => ({ action: 'accept' }), {
    onProgress,
  });
  expect(reported).toEqual([1, 2, 3, 4]);
});

verifies(
  'P3',
  'passes the error of a client to the server, and ends the call of a client that disconnects',
  async () => {
    const refuse: SendClientRequest = async () => {
      throw new RpcError(-32603, 'No window');
    };
    const { seen } = await run([() => elicits({ message: '?' }), () => text('done')], refuse);
    expect(seen[1]).toMatchObject({
      continuation,
      inputResponses: { it: { failed: { code: -32603, message: 'No window' } } },
    });
    const disconnect: SendClientRequest = async () => {
      throw new Error('gone');
    };
    await expect(run([() => elicits({ message: '?' })], disconnect)).rejects.toThrow('gone');
  },
);

verifies('P3', 'removes resultType from the result of a legacy client', async () => {
  const done = text('done') as Result & { value: JsonObject };
  const { value } = await run(
    [() => ({ ...done, value: { ...done.value, resultType: 'complete' } })],
    async () => ({}),
  );
  expect(value).toEqual(done.value);
});
