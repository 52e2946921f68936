import { expect } from 'vitest';
import { newCallId } from '../../src/core/call/call-id.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const owner = { id: 'library', roles: ['owner'], via: 'library' } as const;
const call = { kind: 'tool', name: 'demo.add', input: {}, meta: {}, caller: owner, options: {} } as const;
const START = Date.UTC(2026, 10, 17, 9);

verifies('G7', 'a restarted gateway times out the approvals that were left open, without a call', async () => {
  const folder = await temporaryFolder();
  const config = { mode: 'strict' };
  const servers = { demo: recordingServer({ add: () => text('done') }) };
  const before = await temporaryHeddle({ folder, config, servers, clock: () => START });
  const { signal } = new AbortController();
  const result = await before.dispatch({ ...call, id: newCallId(), signal });
  if (result.kind !== 'waiting') throw new Error(result.kind);
  await before.close();
  const observed: unknown[] = [];
  const hooks = { onApproval: async (event: object) => void observed.push(event) };
  await temporaryHeddle({ folder, config, servers, hooks, watch: true, clock: () => START + 3_600_000 });
  await until('the approval has timed out', () => observed.length > 0);
  expect(observed).toMatchObject([{ approval: { id: result.approval.id, status: 'timeout' } }]);
});
