import { hash } from 'node:crypto';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { compose, type Facts, type ResolvedCall, type Result } from '../core/call.ts';
import { aCall, ada, aTarget, grace, text } from '../core/fixtures.ts';
import { decides, type RealStore, realStore } from './fixtures.ts';
import { recordIntent } from './record-intent.ts';

const of = (facts: Partial<Facts>, overrides: Partial<ResolvedCall> = {}) =>
  aCall({ target: aTarget({ facts }), ...overrides });
const writes = of({});
const reads = of({ readOnly: true });

/** The stage on a real store; the far end looks at what is committed by the time it is called. */
function watched(store: RealStore, decide = decides()) {
  const seen: unknown[] = [];
  const upstream = async (): Promise<Result> => {
    seen.push(await store.phases());
    return text('done');
  };
  return { seen, send: compose([recordIntent(store.audit, decide, () => 5)], upstream) };
}

verifies('G11', 'what a write is about to do is committed before the server is called', async () => {
  const store = await realStore();
  const { send, seen } = watched(store);
  await send(writes);
  expect(seen).toEqual([['intent']]);
});

verifies('G11', 'a read does not wait, and its record follows', async () => {
  const store = await realStore();
  let called = false;
  const sent = recordIntent(store.audit, decides())(reads, async () => {
    called = true;
    return text('done');
  });
  expect(called).toBe(true);
  await sent;
  await expect.poll(store.phases).toEqual(['intent']);
});

verifies(
  'G11',
  'what a read was asked is recorded as it was, whatever its server does to what it was given',
  async () => {
    const store = await realStore();
    const input = { path: '/etc/passwd' };
    await recordIntent(store.audit, decides())(of({ readOnly: true }, { input }), async () => {
      input.path = '/elsewhere';
      return text('done');
    });
    await expect.poll(store.phases).toEqual(['intent']);
    const [record] = await store.audit.search({ limit: 1 });
    expect(record?.detail.arguments).toEqual({ path: '/etc/passwd' });
  },
);

verifies('G11', 'without the log nothing is written, reads go on, and it recovers by itself', async () => {
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
  expect(digests.map(({ phase }) => phase)).toEqual(['intent', 'intent']); // The read's record was kept meanwhile.
});

verifies('G11', 'an idempotent or built-in tool that may write waits for its record too', async () => {
  const store = await realStore();
  const { send } = watched(store);
  await store.breakAudit();
  for (const facts of [{ idempotent: true }, { builtin: true }, { riskLevel: 'low' as const }]) {
    await expect(send(of(facts))).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  }
});

verifies('G11', 'the record says who, what, on whose say, and holds no secret', async () => {
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

verifies('G11', 'what the client said beside the arguments is written down, too, without its secrets', async () => {
  const store = await realStore();
  const { send } = watched(store);
  await send(of({}, { extraParams: { force: true, token: 'hunter2' } }));
  const [record] = await store.audit.search({ limit: 1 });
  expect(record?.detail).toMatchObject({
    beside: expect.stringMatching(/^[0-9a-f]{64}$/),
    parameters: { force: true, token: '[REDACTED]' },
  });
  expect(JSON.stringify(await store.committed('SELECT * FROM audit'))).not.toContain('hunter2');
});

verifies('G2', 'what a person agreed to for themselves is recorded as that', async () => {
  const store = await realStore();
  const { send } = watched(store, decides({ mode: 'strict' }));
  await send(of({}, { caller: grace, approved: 'self' }));
  const [record] = await store.audit.search({ limit: 1 });
  expect(record?.detail).toMatchObject({ decision: 'self-approved', rule: 'mode strict' });
});

verifies('G2', 'every round of a call that asks leaves a record under the one id', async () => {
  const store = await realStore();
  const { send } = watched(store, decides({ permissions: { allow: ['mcp__demo'] } }));
  await send(of({}));
  await send(of({}, { continuation: { kind: 'parked', server: 'demo', ticket: 't' } }));
  const records = await store.audit.search({ limit: 2 });
  expect(records.map(({ callId, detail }) => [callId, detail.goesOn])).toEqual([
    [writes.id, 'parked'],
    [writes.id, undefined],
  ]);
  expect(JSON.stringify(records)).not.toContain('ticket');
});

verifies(
  'G11',
  'what is answered leaves a digest, and a task’s round says nothing of arguments it does not have',
  async () => {
    const store = await realStore();
    const { send } = watched(store);
    const from = { kind: 'task', server: 'demo', taskId: 't1', pollMs: 1 } as const;
    const answers = { q1: { action: 'accept', content: { name: 'Ada' } } };
    const digest = hash('sha256', JSON.stringify(answers));
    await send(
      of(
        {},
        { input: { to: 'x' }, continuation: { kind: 'parked', server: 'demo', ticket: 't' }, inputResponses: answers },
      ),
    );
    await send(of({}, { continuation: from, inputResponses: answers }));
    await send(of({}, { continuation: { ...from, cancels: true } }));
    const [stopped, updated, parked] = (await store.audit.search({ limit: 3 })).map(({ detail }) => detail);
    expect(parked).toMatchObject({ arguments: { to: 'x' }, input: expect.any(String), answers: digest });
    expect(updated).toMatchObject({ goesOn: 'task', answers: digest });
    expect(stopped).toMatchObject({ goesOn: 'task', cancels: true });
    for (const [detail, names] of [
      [updated, ['input', 'arguments']],
      [stopped, ['input', 'arguments', 'answers']],
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
    const [meta, beside] = [
      { 'example.com/apiKey': 'hunter2', tenant: 't1' },
      { region: 'eu', password: 'hunter2' },
    ];
    await watched(store, decides({ mode: 'open' })).send(of({}, { meta, extraParams: beside }));
    await watched(store, decides({ mode: 'open' })).send(of({}, { meta: {} }));
    const [plain, full] = (await store.audit.search({ limit: 2 })).map(({ detail }) => detail);
    expect(full).toMatchObject({
      meta: hash('sha256', JSON.stringify(meta)),
      _meta: { 'example.com/apiKey': '[REDACTED]', tenant: 't1' },
      beside: hash('sha256', JSON.stringify(beside)),
      parameters: { region: 'eu', password: '[REDACTED]' },
    });
    for (const name of ['meta', '_meta', 'beside', 'parameters']) expect(plain).not.toHaveProperty(name);
    expect(JSON.stringify(await store.committed('SELECT * FROM audit'))).not.toContain('hunter2');
  },
);

verifies('G11', 'what is not a call of a tool is written down as what it is', async () => {
  const store = await realStore();
  await watched(store).send(of({ readOnly: true }, { kind: 'resource' }));
  await watched(store).send(reads);
  await expect.poll(store.phases).toEqual(['intent', 'intent']);
  const kinds = (await store.audit.search({ limit: 2 })).map(({ detail }) => detail.kind);
  expect(kinds).toEqual([undefined, 'resource']);
});
