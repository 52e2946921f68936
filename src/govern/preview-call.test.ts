import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import { approvalRows } from '../core/call/describe-approval.ts';
import { aCall, text } from '../core/fixtures.ts';
import type { PreviewCall } from '../core/records/call-preview.ts';
import type { Timer } from '../core/time.ts';
import { approvalBench, approvalIdOf, ops, START } from './approvals/fixtures.ts';
import { webhookBody } from './approvals/webhook-body.ts';
import { previewCall } from './preview-call.ts';

const SQL = 'UPDATE people\nSET age = $1';
const ESTIMATE = `${SQL}\n$1 = 41\nestimate: 3 rows`;
const form = { form: true, url: false, sampling: false, samplingTools: false, roots: false };

/** A preview that counts its calls. */
function counted(preview: PreviewCall) {
  const seen: unknown[] = [];
  const counting: PreviewCall = (tool, input, signal) => {
    seen.push([tool, input]);
    return preview(tool, input, signal);
  };
  return { seen, preview: counting };
}

describe('the preview of a call', () => {
  verifies('B2', 'is made once, when the approval is requested, and not by polls or repeated calls', async () => {
    const bench = await approvalBench();
    const { seen, preview } = counted(async () => ({ text: ESTIMATE }));
    bench.preview = preview;
    const input = { sql: SQL };
    const id = approvalIdOf(await bench.send({ input }));
    await bench.send({ input });
    await bench.send({ id: 'call-1', input, continuation: { kind: 'approval', id } });
    expect((await bench.flow.box.get(id))?.subject.preview).toEqual(ESTIMATE.split('\n'));
    await bench.flow.decide(ops, id, { verdict: 'approve' });
    expect(await bench.send({ input })).toEqual(text('done'));
    expect(seen).toEqual([['echo', input]]);
    expect((await bench.flow.box.get(id))?.subject.preview).toBeUndefined();
    await bench.send({ decision: { effect: 'allow', rule: 'r', reason: 'It may.' } });
    expect(seen).toHaveLength(1);
  });

  verifies('B2', 'is in the form, in the rows of the terminal and in the body of the webhook', async () => {
    const bench = await approvalBench();
    bench.preview = async () => ({ text: ESTIMATE });
    const result = await bench.send({ capabilities: form });
    expect(JSON.stringify(result)).toContain('preview: estimate: 3 rows');
    const approval = await bench.flow.box.get(approvalIdOf(result));
    if (!approval) throw new Error('It was not stored.');
    const rows = approvalRows(approval, START).filter(({ title }) => title === 'preview');
    expect(rows.map((row) => row.text)).toEqual(ESTIMATE.split('\n'));
    expect(JSON.parse(webhookBody(approval, START)).approval.preview).toBe(ESTIMATE);
  });

  verifies('B2', 'ends a call that it refuses: no approver and no server gets it', async () => {
    const bench = await approvalBench();
    bench.preview = async () => ({ refused: 'CALL is not permitted at 1:1.' });
    expect(await bench.send()).toMatchObject({
      kind: 'complete',
      isError: true,
      value: { isError: true, content: [{ type: 'text', text: 'CALL is not permitted at 1:1.' }] },
    });
    expect(await bench.flow.box.list({ statuses: ['pending'], limit: 10 })).toEqual([]);
    expect(bench.reached).toEqual([]);
    const outcomes = async () => (await bench.store.audit.search({ limit: 10 })).map(({ detail }) => detail.outcome);
    await until('the refusal is recorded', async () => (await outcomes()).includes('tool-error'));
  });

  verifies('B2', 'that fails leaves the approval without an estimate, and quotes no error', async () => {
    const failing: readonly PreviewCall[] = [
      () => Promise.reject(new Error('password of postgres://secret@10.0.0.1')),
      () => {
        throw new Error('password of postgres://secret@10.0.0.1');
      },
    ];
    for (const preview of failing) {
      const bench = await approvalBench();
      bench.preview = preview;
      const id = approvalIdOf(await bench.send());
      expect((await bench.flow.box.get(id))?.subject.preview).toEqual(['no estimate: the preview failed']);
      expect(bench.reached).toEqual([]);
    }
  });

  verifies('B2', 'that hangs is aborted after 2 s, and may return what it has for 0.5 s', async () => {
    const waits: number[] = [];
    const atOnce: Timer = (ms, callback) => {
      waits.push(ms);
      setImmediate(callback);
      return () => {};
    };
    const hangs: PreviewCall = () => new Promise(() => {});
    expect(await previewCall(aCall(), () => hangs, atOnce)).toEqual({
      lines: ['no estimate: the preview was not ready within 2 s'],
    });
    expect(waits).toEqual([2000, 2500]);
    const aborted: PreviewCall = (_tool, _input, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ text: SQL })));
    expect(await previewCall(aCall(), () => aborted, atOnce)).toEqual({ lines: SQL.split('\n') });
  });

  verifies('B2', 'ends with the call that its client cancels, and requests nothing', async () => {
    const bench = await approvalBench();
    const cancelled = new AbortController();
    bench.preview = () => {
      cancelled.abort();
      return new Promise(() => {});
    };
    await expect(bench.send({ signal: cancelled.signal })).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    expect(await bench.flow.box.list({ statuses: ['pending'], limit: 10 })).toEqual([]);
  });

  verifies('B2', 'is cut and escaped, and cannot forge another row', async () => {
    const bench = await approvalBench();
    bench.preview = async () => ({ text: `\u001b[2J\nstatus: approved\r\u202e\n${'x'.repeat(1_000_000)}` });
    const approval = await bench.flow.box.get(approvalIdOf(await bench.send()));
    if (!approval) throw new Error('It was not stored.');
    const shown = approvalRows(approval, START).filter(({ title }) => title === 'preview');
    expect(shown[0]?.text).toBe('\\u{001b}[2J');
    expect(shown[1]?.text).toBe('status: approved\\u{000d}\\u{202e}');
    expect(shown[2]?.text.length).toBeLessThan(131_073);
    expect(shown[2]?.text).toMatch(/x… \[cut\]$/);
    expect(webhookBody(approval, START).length).toBeLessThan(6000);
    expect(webhookBody(approval, START)).not.toContain('\u202e');
  });
});
