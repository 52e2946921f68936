import { hash } from 'node:crypto';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Facts } from '../core/call/facts.ts';
import { compose, type DecidedCall, type Result } from '../core/call.ts';
import { aCall, ada, aTarget, grace, text } from '../core/fixtures.ts';
import { decides, type RealStore, realStore } from './fixtures.ts';
import { recordIntent } from './record-intent.ts';

const of = (facts: Partial<Facts>, overrides: Partial<DecidedCall> = {}) =>
  aCall({ target: aTarget({ facts }), ...overrides });
const writes = of({});
const reads = of({ readOnly: true });

/** Builds the stage on a real store. `seen` has the phases that are committed when the server is called. */
function watched(store: RealStore, decide = decides()) {
  const seen: unknown[] = [];
  const invoke = async (): Promise<Result> => {
    seen.push(await store.phases());
    return text('done');
  };
  const stage = compose([recordIntent(store.audit, { clock: () => 5 })], invoke);
  const send = (call: DecidedCall) => stage({ ...call, decision: decide(call.caller, call.target, call) });
  return { seen, send };
}

verifies('G11', 'commits the record of a call that may write before the server is called', async () => {
  const store = await realStore();
  const { send, seen } = watched(store);
  await send(writes);
  expect(seen).toEqual([['intent']]);
});

verifies('W5', 'sends nothing for a step whose run another process has taken over', async () => {
  const store = await realStore();
  const { send, seen } = watched(store);
  await store.runs.get('any'); // Loads the journal, as the engine does before a step.
  const lease = await store.leases.acquire('run:run_1', 60_000);
  const step = { ...writes, fence: { run: 'run_1', path: 'a', epoch: lease?.epoch ?? 0 } };
  await send(step);
  if (lease) await store.leases.release(lease);
  await store.leases.acquire('run:run_1', 60_000);
  await expect(send(step)).rejects.toMatchObject({ code: 'RUN_LEASE_LOST' });
  expect(seen).toEqual([['intent']]);
  expect(await store.phases()).toEqual(['intent']);
});

verifies('G11', 'lets a read-only call go on at once and writes its record later', async () => {
  const store = await realStore();
  let called = false;
  const sent = recordIntent(store.audit)(reads, async () => {
    called = true;
    return text('done');
  });
  expect(called).toBe(true);
  await sent;
  await expect.poll(store.phases).toEqual(['intent']);
});

verifies(
  'G11',
  'records the arguments of a read-only call as they were sent, even if an in-process server changes them',
  async () => {
    const store = await realStore();
    const input = { path: '/etc/passwd' };
    await recordIntent(store.audit)(of({ readOnly: true }, { input }), async () => {
      input.path = '/elsewhere';
      return text('done');
    });
    await expect.poll(store.phases).toEqual(['intent']);
    const [record] = await store.audit.search({ limit: 1 });
    expect(record?.detail.arguments).toEqual({ path: '/etc/passwd' });
  },
);

verifies('G11', 'refuses writes while the audit log fails, lets reads go on, and recovers by itself', async () => {
  const store = await realStore();
  const { send, seen } = watched(store);
  await store.breakAudit();
  await expect(send(writes)).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  expect(seen).toEqual([]);
  await expect(send(reads)).resolves.toEqual(text('done'));
  expect(seen).toEqual([[]]);
  await store.repairAudit();
  await expect(send(writes)).resolves.toEqual(text('done'));
  const digests = await store.audit.search({ limit: 10 });
  expect(digests.map(({ phase }) => phase)).toEqual(['intent', 'intent']); // The record of the read was queued.
});

verifies('G11', 'waits for the record of an idempotent or built-in tool that may write', async () => {
  const store = await realStore();
  const { send } = watched(store);
  await store.breakAudit();
  for (const facts of [{ idempotent: true }, { builtin: true }, { riskLevel: 'low' as const }]) {
    await expect(send(of(facts))).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  }
});

verifies('G11', 'records the caller, the tool, the decision and its rule, and no secret', async () => {
  const store = await realStore();
  const { send } = watched(store, decides({ permissions: { allow: ['mcp__demo'] } }));
  await send(of({}, { input: { to: 'x', password: 'hunter2' } }));
  const [record] = await store.audit.search({ limit: 1 });
  expect(record).toMatchObject({
    callId: writes.id,
    phase: 'intent',
    at: 5,
    caller: ada.id,
    via: 'gateway',
    name: 'mcp__demo__echo',
    detail: {
      servers: ['demo'],
      tool: 'f00d',
      decision: 'allow',
      rule: 'permissions.allow: mcp__demo',
      input: expect.stringMatching(/^[0-9a-f]{64}$/),
      arguments: { to: 'x', password: '[REDACTED]' },
    },
  });
  expect(JSON.stringify(await store.committed('SELECT * FROM audit'))).not.toContain('hunter2');
});

verifies('G11', 'records unknown parameters without their secrets', async () => {
  const store = await realStore();
  const { send } = watched(store);
  await send(of({}, { extraParams: { force: true, token: 'hunter2' } }));
  const [record] = await store.audit.search({ limit: 1 });
  expect(record?.detail).toMatchObject({
    extraParams: expect.stringMatching(/^[0-9a-f]{64}$/),
    parameters: { force: true, token: '[REDACTED]' },
  });
  expect(JSON.stringify(await store.committed('SELECT * FROM audit'))).not.toContain('hunter2');
});

verifies('G2', 'records a self-approved call as self-approved', async () => {
  const store = await realStore();
  const { send } = watched(store, decides({ mode: 'strict' }));
  await send(of({}, { caller: grace, approval: { how: 'self', by: ['grace'] } }));
  const [record] = await store.audit.search({ limit: 1 });
  expect(record?.detail).toMatchObject({ decision: 'self-approved', rule: 'mode strict' });
});

verifies('G6', 'records the approval that a call uses, with the identities that approved', async () => {
  const store = await realStore();
  const { send } = watched(store);
  await send(of({}, { approval: { id: 'ap_1', how: 'approved', by: ['key:ops'] } }));
  const [record] = await store.audit.search({ limit: 1 });
  expect(record?.detail).toMatchObject({ decision: 'approved', approval: { id: 'ap_1', by: ['key:ops'] } });
});

verifies('G2', 'records every continuation of a call under its id', async () => {
  const store = await realStore();
  const { send } = watched(store, decides({ permissions: { allow: ['mcp__demo'] } }));
  await send(of({}));
  await send(of({}, { continuation: { kind: 'suspended', server: 'demo', ticket: 't' } }));
  const records = await store.audit.search({ limit: 2 });
  expect(records.map(({ callId, detail }) => [callId, detail.continuation])).toEqual([
    [writes.id, 'suspended'],
    [writes.id, undefined],
  ]);
  expect(JSON.stringify(records)).not.toContain('ticket');
});

verifies(
  'G11',
  'records a digest of the input responses, and no arguments for the continuation of a task',
  async () => {
    const store = await realStore();
    const { send } = watched(store);
    const continuation = { kind: 'task', server: 'demo', taskId: 't1', pollMs: 1 } as const;
    const inputResponses = { q1: { action: 'accept', content: { name: 'Ada' } } };
    const digest = hash('sha256', JSON.stringify(inputResponses));
    await send(
      of({}, { input: { to: 'x' }, continuation: { kind: 'suspended', server: 'demo', ticket: 't' }, inputResponses }),
    );
    await send(of({}, { continuation, inputResponses }));
    await send(of({}, { continuation: { ...continuation, cancels: true } }));
    const [cancelled, updated, resumed] = (await store.audit.search({ limit: 3 })).map(({ detail }) => detail);
    expect(resumed).toMatchObject({ arguments: { to: 'x' }, input: expect.any(String), inputResponses: digest });
    expect(updated).toMatchObject({ continuation: 'task', inputResponses: digest });
    expect(cancelled).toMatchObject({ continuation: 'task', cancels: true });
    for (const [detail, names] of [
      [updated, ['input', 'arguments']],
      [cancelled, ['input', 'arguments', 'inputResponses']],
    ] as const) {
      for (const name of names) expect(detail).not.toHaveProperty(name);
    }
    expect(JSON.stringify(await store.committed('SELECT * FROM audit'))).not.toContain('Ada');
  },
);

verifies(
  'G11',
  'records `_meta` and unknown parameters as they are sent: digests of all, and values without secrets',
  async () => {
    const store = await realStore();
    const [meta, extraParams] = [
      { 'example.com/apiKey': 'hunter2', tenant: 't1' },
      { region: 'eu', password: 'hunter2' },
    ];
    await watched(store, decides({ mode: 'open' })).send(of({}, { meta, extraParams }));
    await watched(store, decides({ mode: 'open' })).send(of({}, { meta: {} }));
    const [plain, full] = (await store.audit.search({ limit: 2 })).map(({ detail }) => detail);
    expect(full).toMatchObject({
      meta: hash('sha256', JSON.stringify(meta)),
      _meta: { 'example.com/apiKey': '[REDACTED]', tenant: 't1' },
      extraParams: hash('sha256', JSON.stringify(extraParams)),
      parameters: { region: 'eu', password: '[REDACTED]' },
    });
    for (const name of ['meta', '_meta', 'extraParams', 'parameters']) expect(plain).not.toHaveProperty(name);
    expect(JSON.stringify(await store.committed('SELECT * FROM audit'))).not.toContain('hunter2');
  },
);

verifies('G11', 'records the kind of a call that is not a tool call', async () => {
  const store = await realStore();
  await watched(store).send(of({ readOnly: true }, { kind: 'resource' }));
  await watched(store).send(reads);
  await expect.poll(store.phases).toEqual(['intent', 'intent']);
  const kinds = (await store.audit.search({ limit: 2 })).map(({ detail }) => detail.kind);
  expect(kinds).toEqual([undefined, 'resource']);
});
