import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { anApproval } from '../../govern/approvals/fixtures.ts';
import { onEveryDialect } from '../fixtures.ts';
import { openStore } from '../open-store.ts';

const LIMITS = { perPrincipal: 50, total: 10_000 };
const AP = 'ap_0123456789abcdef';
const DAY_MS = 86_400_000;
const callOf = (callId: string, principal = 'ada') => ({ principal, callId, approval: AP });
const PROOF = { ...callOf('one'), digest: 'd', nonce: 'n' };

onEveryDialect((bench) => {
  verifies('G7', 'uses a proof once, for 20 uses by two processes at once', async () => {
    const other = await openStore({ location: bench.database.location });
    await bench.store.approvalCalls.issue(PROOF, 1_000);
    const books = [bench.store.approvalCalls, other.approvalCalls];
    const uses = await Promise.all(Array.from({ length: 20 }, (_, at) => books[at % 2]?.use(PROOF)));
    expect(uses.filter(Boolean)).toHaveLength(1);
    expect(await other.approvalCalls.isIssued(PROOF)).toBe(false);
    await other.close();
  });

  verifies('G7', 'knows a proof over a restart, and no other than the last one of the call', async () => {
    await bench.store.approvalCalls.issue({ ...PROOF, nonce: 'first' }, 1_000);
    await bench.store.approvalCalls.issue(PROOF, 1_000);
    await bench.store.close();
    bench.store = await openStore({ location: bench.database.location });
    const { approvalCalls } = bench.store;
    const others = [
      { ...PROOF, nonce: 'first' },
      { ...PROOF, digest: 'e' },
      { ...PROOF, callId: 'two' },
      { ...PROOF, principal: 'eve' },
      { ...PROOF, approval: 'st_1' },
      { ...PROOF, nonce: '\0' },
    ];
    for (const other of others) {
      expect([await approvalCalls.isIssued(other), await approvalCalls.use(other)]).toEqual([false, false]);
    }
    expect(await approvalCalls.isIssued(PROOF)).toBe(true);
    expect(await approvalCalls.use(PROOF)).toBe(true);
  });

  verifies('G7', 'forgets calls after 30 days', async () => {
    const { approvalCalls } = bench.store;
    await approvalCalls.issue(PROOF, 1_000);
    await approvalCalls.issue({ ...PROOF, callId: 'two' }, 1_000 + 31 * DAY_MS);
    expect(await approvalCalls.isIssued(PROOF)).toBe(false);
  });

  verifies('G7', 'forgets calls that waited for a settled approval after a day', async () => {
    const { approvals, approvalCalls } = bench.store;
    const approval = anApproval({ id: AP });
    await approvals.open(approval, LIMITS);
    for (const id of ['one', 'two', 'three']) await approvalCalls.join(callOf(id), 1_000);
    await approvalCalls.cancel('ada', 'two');
    await approvalCalls.issue({ ...PROOF, callId: 'three' }, 1_000);
    const known = async () => {
      await approvalCalls.issue({ ...PROOF, callId: 'another' }, 2_000 + DAY_MS);
      const found = await Promise.all(['one', 'two', 'three'].map((id) => approvalCalls.find('ada', id)));
      return found.map((one) => one !== undefined);
    };
    expect(await known()).toEqual([true, true, true]);
    await approvals.replace({ ...approval, status: 'timeout', version: 2 });
    expect(await known()).toEqual([false, true, true]);
  });

  verifies('G7', 'knows over a restart which calls wait for an approval and which are cancelled', async () => {
    const { approvals, approvalCalls } = bench.store;
    expect(await approvalCalls.join(callOf('one'), 1_000)).toBe(false);
    await approvals.open(anApproval({ id: AP }), LIMITS);
    for (const id of ['one', 'one', 'two']) expect(await approvalCalls.join(callOf(id), 1_000)).toBe(true);
    expect(await approvalCalls.cancel('eve', 'one')).toEqual([]);
    expect(await approvalCalls.cancel('ada', 'one')).toEqual([AP]);
    await bench.store.close();
    bench.store = await openStore({ location: bench.database.location });
    const book = bench.store.approvalCalls;
    expect(await book.join(callOf('one'), 2_000)).toBe(true); // A cancelled call stays cancelled.
    expect(await book.find('ada', 'one')).toEqual({ approval: AP, isCancelled: true });
    expect(await book.find('ada', 'two')).toEqual({ approval: AP, isCancelled: false });
    expect(await book.find('eve', 'two')).toBeUndefined();
    expect(await book.isAwaited(AP)).toBe(true);
    await book.cancel('ada', 'two');
    expect(await book.isAwaited(AP)).toBe(false);
  });

  verifies('G7', 'withdraws an approval only if no call waits for it', async () => {
    const { approvals, approvalCalls } = bench.store;
    const approval = anApproval({ id: AP });
    await approvals.open(approval, LIMITS);
    await approvalCalls.join(callOf('one'), 1_000);
    const withdrawn = { ...approval, status: 'void', version: 2 } as const;
    expect(await approvals.replace(withdrawn, { unlessAwaited: true })).toBe(false);
    await approvalCalls.cancel('ada', 'one');
    expect(await approvals.replace(withdrawn, { unlessAwaited: true })).toBe(true);
    expect(await approvalCalls.join(callOf('two'), 1_000)).toBe(false);
  });
});
