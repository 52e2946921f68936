import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Call, JsonObject, Result } from '../core/call.ts';
import { aCall, text } from '../core/fixtures.ts';
import type { Heddle } from '../heddle.ts';
import { RpcError } from '../wire/json-rpc.ts';
import type { AskClient } from './client-questions.ts';
import { eraBridge } from './era-bridge.ts';
import { handouts } from './handouts.ts';

const CAN = { form: true, url: true, sampling: true, samplingTools: false, roots: true };
const next = { kind: 'upstream', server: 'demo', state: 's' } as const;
const asks = (params: JsonObject): Result => ({
  kind: 'input-required',
  questions: { it: { method: 'elicitation/create', params } },
  next,
});

/** Runs a call of a legacy client whose server does this in its rounds. */
async function run(rounds: readonly ((call: Call) => Result)[], ask: AskClient, more: Partial<Call> = {}) {
  const seen: Call[] = [];
  const dispatch = async (call: Call) => {
    seen.push(call);
    return (rounds[seen.length - 1] as (call: Call) => Result)(call);
  };
  const heddle = { dispatch } as unknown as Heddle;
  const bridge = eraBridge(heddle, handouts(heddle));
  const call = aCall({ can: CAN, ...more });
  const { caller, signal } = call;
  const value = await bridge(call, { id: 1, era: 'legacy', caller, signal, notify: () => true, can: CAN, ask });
  return { value, seen };
}

verifies('P3', 'progress never goes back for a legacy client, though each round counts anew', async () => {
  const heard: unknown[] = [];
  const report = ({ progress }: JsonObject) => heard.push(progress);
  const counting = (to: number, result: Result) => (call: Call) => {
    for (let at = 1; at <= to; at++) call.report?.({ progress: at });
    return result;
  };
  await run([counting(2, asks({ message: '?' })), counting(4, text('done'))], async () => ({ action: 'accept' }), {
    report,
  });
  expect(heard).toEqual([1, 2, 3, 4]);
});

verifies(
  'P3',
  'a client that cannot put a question says so to the server, and one that leaves ends the call',
  async () => {
    const refuse: AskClient = async () => {
      throw new RpcError(-32603, 'No window');
    };
    const { seen } = await run([() => asks({ message: '?' }), () => text('done')], refuse);
    expect(seen[1]).toMatchObject({ from: next, answers: { it: { failed: { code: -32603, message: 'No window' } } } });
    const leave: AskClient = async () => {
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
