import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { temporaryFolder, temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import { until } from '../../test/until.ts';
import type { JsonObject } from '../core/call.ts';
import { parseExact } from '../core/exact-numbers.ts';
import type { Approval } from '../core/records/approval.ts';
import type { Heddle } from '../heddle.ts';
import type { HeddleError, OpenOptions } from '../index.ts';
import { programApprovals } from './approval-api.ts';

const ASKS = { permissions: { ask: ['mcp__notes__write'] } };
/** Without an approver the call would be refused at once. */
const OPS = { name: 'ops', sha256: 'a'.repeat(64), roles: ['approver'] };

/** Opens a program whose calls of `notes.write` need an approval. */
async function opened(options: Partial<OpenOptions> = {}, config: JsonObject = ASKS, folder?: string) {
  const notes = recordingServer({ write: () => text('written') });
  const { config: _, cwd: __, ...rest } = options;
  const heddle = await temporaryHeddleClient({ servers: { notes }, config, folder, ...rest });
  const write = (value = 'hi') => heddle.call('notes.write', { text: value });
  const failed = (value?: string): Promise<HeddleError> =>
    write(value).then(
      () => Promise.reject(new Error('It was called.')),
      (thrown) => thrown,
    );
  return { heddle, write, failed, calls: notes.calls };
}

const idOf = ({ details }: HeddleError) => String(details.approval);

describe('onApprovalRequest', () => {
  verifies('G7', 'gets the exact call, and approves it once', async () => {
    const seen: Approval[] = [];
    const { write, calls, heddle } = await opened({
      onApprovalRequest(approval, { signal }) {
        expect(signal.aborted).toBe(false);
        seen.push(approval);
        return { approve: true, note: 'Fine.' };
      },
    });
    expect((await write()).isError).toBe(false);
    expect(seen).toMatchObject([
      { status: 'pending', requestedBy: 'library', subject: { name: 'mcp__notes__write', arguments: { text: 'hi' } } },
    ]);
    await write();
    expect(new Set(seen.map(({ id }) => id)).size).toBe(2);
    expect(calls).toHaveLength(2);
    expect(await heddle.approvals.get(seen[0]?.id ?? '')).toMatchObject({
      status: 'used',
      decisions: [{ by: 'library', verdict: 'approve', note: 'Fine.' }],
    });
  });

  verifies('G7', 'rejects a call, and nothing runs', async () => {
    const { failed, calls, heddle } = await opened({ onApprovalRequest: () => ({ approve: false }) });
    const error = await failed();
    expect(error).toMatchObject({ code: 'APPROVAL_REJECTED' });
    expect(await heddle.approvals.get(idOf(error))).toMatchObject({
      status: 'rejected',
      decisions: [{ verdict: 'reject', note: 'The program rejected it.' }],
    });
    expect(calls).toEqual([]);
  });

  verifies('G7', 'leaves a call pending if it returns nothing, throws, or is no valid response', async () => {
    const responses = [undefined, {}, { approve: 'yes' }, { approve: true, always: true }];
    for (const response of responses) {
      const { failed, heddle, calls } = await opened({ onApprovalRequest: () => response as never });
      expect(await failed()).toMatchObject({ code: response === undefined ? 'APPROVAL_PENDING' : 'USAGE_INVALID' });
      expect(await heddle.approvals.list()).toMatchObject([{ status: 'pending' }]);
      expect(calls).toEqual([]);
    }
    const thrown = new Error('The window was closed.');
    const { failed, heddle } = await opened({ onApprovalRequest: () => Promise.reject(thrown) });
    expect(await failed()).toBe(thrown);
    expect(await heddle.approvals.list()).toHaveLength(1);
  });

  verifies('G6', 'is not called if a rule excludes the requester', async () => {
    const rule = { name: 'four eyes', stages: [{ approvers: ['role:approver'], need: 1 }], notRequester: true };
    const { failed, heddle, calls } = await opened(
      { onApprovalRequest: () => Promise.reject(new Error('It was called.')) },
      { ...ASKS, approvals: { rules: [rule] }, gateway: { apiKeys: [OPS] } },
    );
    const error = await failed();
    expect(error).toMatchObject({ code: 'APPROVAL_PENDING', details: { approvers: ['role:approver'] } });
    await expect(heddle.approvals.approve(idOf(error))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(calls).toEqual([]);
  });

  verifies('G7', 'works for a program that also answers input requests', async () => {
    const { write, calls } = await opened({
      onApprovalRequest: () => ({ approve: true }),
      onElicitation: () => ({ action: 'decline' }),
    });
    await write();
    expect(calls).toHaveLength(1);
  });
});

describe('without onApprovalRequest', () => {
  verifies('G7', 'the call fails with APPROVAL_PENDING, and runs after `wait` and an approval', async () => {
    const { write, failed, heddle, calls } = await opened();
    const error = await failed();
    expect(error).toMatchObject({ code: 'APPROVAL_PENDING', fix: expect.stringContaining('repeat the same call') });
    const settled = heddle.approvals.wait(idOf(error));
    expect(await heddle.approvals.approve(idOf(error).slice(0, 8))).toMatchObject({ status: 'approved' });
    expect(await settled).toMatchObject({ id: idOf(error), status: 'approved' });
    await write();
    expect(calls).toHaveLength(1);
    expect(await failed()).toMatchObject({ code: 'APPROVAL_PENDING' });
  });

  verifies('G7', 'another program with the same store decides while this one waits', async () => {
    const folder = await temporaryFolder();
    const one = await opened({}, ASKS, folder);
    const other = await opened({}, ASKS, folder);
    const id = idOf(await one.failed());
    const settled = one.heddle.approvals.wait(id);
    await other.heddle.approvals.reject(id, { note: 'Not today.' });
    expect(await settled).toMatchObject({ status: 'rejected' });
    expect(await one.failed()).toMatchObject({ message: expect.stringContaining('Not today.') });
  });

  it('ends a wait when its signal aborts', async () => {
    const { failed, heddle } = await opened();
    const id = idOf(await failed());
    const ended = new AbortController();
    const settled = heddle.approvals.wait(id, { signal: ended.signal });
    ended.abort();
    await expect(settled).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    expect(await heddle.approvals.get(id)).toMatchObject({ status: 'pending' });
  });
});

describe('heddle.approvals', () => {
  verifies('G6', 'lists by status, and makes and revokes standing approvals', async () => {
    const { write, failed, heddle, calls } = await opened();
    const id = idOf(await failed());
    await heddle.approvals.approve(id, { standing: { uses: 5, arguments: { text: 'h*' } } });
    await write();
    await write('hello');
    expect(calls).toHaveLength(2);
    expect(await heddle.approvals.list({ status: 'all' })).toMatchObject([{ id }]);
    expect(await heddle.approvals.list()).toEqual([]);
    const [standing] = await heddle.approvals.standing.list();
    expect(standing).toMatchObject({ tool: 'mcp__notes__write', usesLeft: 4, approvedBy: 'library' });
    expect(await failed('bye')).toMatchObject({ code: 'APPROVAL_PENDING' });
    await heddle.approvals.standing.revoke(standing?.id ?? '');
    expect(await failed('hello')).toMatchObject({ code: 'APPROVAL_PENDING' });
  });

  it('refuses unknown options, unknown ids and a rejection without a note', async () => {
    const { failed, heddle } = await opened();
    const id = idOf(await failed());
    const refused = (promise: Promise<unknown>, code: string) => expect(promise).rejects.toMatchObject({ code });
    await refused(heddle.approvals.list({ state: 'all' } as never), 'USAGE_INVALID');
    await refused(heddle.approvals.approve(id, { notes: 'x' } as never), 'USAGE_INVALID');
    await refused(heddle.approvals.approve(id, { standing: { tool: 'mcp__other' } as never }), 'USAGE_INVALID');
    await refused(heddle.approvals.get('ap_none'), 'NAME_UNKNOWN');
    await refused(heddle.approvals.reject(id, undefined as never), 'INPUT_INVALID');
    await refused(heddle.approvals.reject(id, { note: 'x'.repeat(1_000_000) }), 'INPUT_INVALID');
    await until('it is still pending', async () => (await heddle.approvals.get(id)).status === 'pending');
  });
});

verifies('G7', 'shows a number that JavaScript cannot hold digit by digit', async () => {
  const found = { subject: { arguments: parseExact('{"account":12345678901234567890}') } } as unknown as Approval;
  const approvals = { get: async () => found, decide: async () => found } as unknown as Heddle['approvals'];
  const api = programApprovals({ approvals });
  for (const shown of [await api.get('ap_1'), await api.approve('ap_1')]) {
    expect(shown.subject.arguments).toEqual({ account: '12345678901234567890' });
  }
});
