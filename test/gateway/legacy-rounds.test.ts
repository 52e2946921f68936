import { expect } from 'vitest';
import type { Call, JsonObject, Result } from '../../src/core/call.ts';
import { aCall, text } from '../../src/core/fixtures.ts';
import { openContinuations } from '../../src/gateway/continuations/continuations.ts';
import { callRunner } from '../../src/gateway/methods/run-call.ts';
import type { SendClientRequest } from '../../src/gateway/request-context.ts';
import type { Heddle } from '../../src/heddle.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { verifies } from '../requirements.ts';

const CAN = { form: true, url: true, sampling: true, samplingTools: false, roots: true };
const next = { kind: 'upstream', server: 'demo', state: 's' } as const;
const asks = (params: JsonObject): Result => ({
  kind: 'input-required',
  inputRequests: { it: { method: 'elicitation/create', params } },
  continuation: next,
});

/** Runs a call of a legacy client whose server does this in its rounds. */
async function run(rounds: readonly ((call: Call) => Result)[], ask: SendClientRequest, more: Partial<Call> = {}) {
  const seen: Call[] = [];
  const dispatch = async (call: Call) => {
    seen.push(call);
    return (rounds[seen.length - 1] as (call: Call) => Result)(call);
  };
  const heddle = { dispatch } as unknown as Heddle;
  const bridge = callRunner(heddle, openContinuations(heddle));
  const call = aCall({ capabilities: CAN, ...more });
  const { caller, signal } = call;
  const value = await bridge(call, {
    id: 1,
    era: 'legacy',
    caller,
    signal,
    notify: () => true,
    capabilities: CAN,
    sendRequest: ask,
  });
  return { value, seen };
}

verifies('P3', 'progress never goes back for a legacy client, though each round counts anew', async () => {
  const heard: unknown[] = [];
  const report = ({ progress }: JsonObject) => heard.push(progress);
  const counting = (to: number, result: Result) => (call: Call) => {
    for (let at = 1; at <= to; at++) call.onProgress?.({ progress: at });
    return result;
  };
  await run([counting(2, asks({ message: '?' })), counting(4, text('done'))], async () => ({ action: 'accept' }), {
    onProgress: report,
  });
  expect(heard).toEqual([1, 2, 3, 4]);
});

verifies(
  'P3',
  'a client that cannot put a question says so to the server, and one that leaves ends the call',
  async () => {
    const refuse: SendClientRequest = async () => {
      throw new RpcError(-32603, 'No window');
    };
    const { seen } = await run([() => asks({ message: '?' }), () => text('done')], refuse);
    expect(seen[1]).toMatchObject({ from: next, answers: { it: { failed: { code: -32603, message: 'No window' } } } });
    const leave: SendClientRequest = async () => {
      throw new Error('gone');
    };
    await expect(run([() => asks({ message: '?' })], leave)).rejects.toThrow('gone');
  },
);

verifies('P3', 'a legacy client is not shown what only modern ones know', async () => {
  const done = text('done') as Result & { value: JsonObject };
  const { value } = await run(
    [() => ({ ...done, value: { ...done.value, resultType: 'complete' } })],
    async () => ({}),
  );
  expect(value).toEqual(done.value);
});
