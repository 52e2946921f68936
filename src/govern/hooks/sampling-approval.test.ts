import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { Handler, InputResponses, Progress, ResolvedCall, Result } from '../../core/call.ts';
import { aCall, ada, grace, text } from '../../core/fixtures.ts';
import { approvalBench } from '../approvals/fixtures.ts';
import { withHooks } from './fixtures.ts';

const REFUSED = { q: { failed: { code: -1, message: 'The request was refused.' } } };
const SAMPLING = { method: 'sampling/createMessage', params: { maxTokens: 10 } } as const;
const sampled: Result = {
  kind: 'input-required',
  inputRequests: { q: SAMPLING },
  continuation: { kind: 'suspended', server: 'demo', ticket: 't' },
};

/** A server that sends one sampling request, and ends after its response. */
function server() {
  const sent: (InputResponses | undefined)[] = [];
  const next: Handler<ResolvedCall> = async ({ inputResponses }) => {
    sent.push(inputResponses);
    return sent.length === 1 ? sampled : text('done');
  };
  return { sent, next };
}

verifies('T10', 'sampling.permission deny refuses each sampling request', async () => {
  const { stage } = withHooks({}, {}, { sampling: { permission: 'deny' } });
  const { sent, next } = server();
  await expect(stage(aCall(), next)).resolves.toEqual(text('done'));
  expect(sent).toEqual([undefined, REFUSED]);
});

for (const verdict of ['approve', 'reject'] as const) {
  verifies('T10', `sampling.permission ask waits for an approver: ${verdict}`, async () => {
    const bench = await approvalBench();
    const extras = { sampling: { permission: 'ask' }, openFlow: async () => bench.flow } as const;
    const { stage } = withHooks({}, {}, extras);
    const { sent, next } = server();
    const progress: Progress[] = [];
    const outcome = stage(aCall({ caller: ada, onProgress: (one) => void progress.push(one) }), next);
    const pending = async () => (await bench.flow.box.find('ap_')).filter(({ status }) => status === 'pending');
    await until('an approval waits', async () => (await pending()).length === 1);
    const [approval] = await pending();
    expect(approval).toMatchObject({
      rule: 'sampling.permission',
      subject: { name: 'mcp__demo__echo', arguments: { 'sampling/createMessage': { maxTokens: 10 } } },
    });
    await until('the requester knows', async () => progress.length > 0);
    expect(progress).toEqual([
      { progress: 0, message: expect.stringMatching(new RegExp(`^Waiting for .* the approval ${approval?.id}\\.$`)) },
    ]);
    await bench.flow.decide(grace, approval?.id ?? '', { verdict, note: 'Seen.' });
    await expect(outcome).resolves.toEqual(verdict === 'approve' ? sampled : text('done'));
    expect(sent).toEqual(verdict === 'approve' ? [undefined] : [undefined, REFUSED]);
  });
}
