import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { aCall, text } from '../core/fixtures.ts';
import { traceparentBelow } from '../core/traceparent.ts';
import { realStore } from './fixtures.ts';
import { type Subject, trace } from './trace.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const OWN = aCall().id.replaceAll('-', '');

const NOTHING: Subject = () => undefined;

async function spanOf(meta: JsonObject, traceId: string, fails?: HeddleError, subject = NOTHING) {
  const store = await realStore();
  const call = aCall({ meta, input: { to: 'x', apiKey: 'hunter2' } });
  const next = async () => (fails ? Promise.reject(fails) : text('hi'));
  await trace(store.traces, subject, () => 9)(call, next).catch(() => {});
  await expect.poll(async () => (await store.traces.get(traceId)).length).toBe(1);
  return (await store.traces.get(traceId))[0];
}

verifies('V1', 'every call leaves a span with its outcome and sanitised arguments', async () => {
  const span = await spanOf({}, OWN);
  expect(span).toMatchObject({
    name: 'demo.echo',
    startedAt: 9,
    server: 'demo',
    outcome: 'ok',
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  expect(span?.attributes).toMatchObject({
    caller: 'ada',
    arguments: { to: 'x', apiKey: '[REDACTED]' },
  });
  expect(span?.parentId).toBeUndefined();
});

verifies('V1', 'a span has the unknown parameters', async () => {
  const store = await realStore();
  const call = aCall({ extraParams: { force: true, secret: 'hunter2' } });
  await trace(store.traces, NOTHING)(call, async () => text('hi'));
  await expect.poll(async () => (await store.traces.get(OWN)).length).toBe(1);
  const [span] = await store.traces.get(OWN);
  expect(span?.attributes).toMatchObject({ parameters: { force: true, secret: '[REDACTED]' } });
});

verifies('V1', 'a span has only the beginning of a very long name', async () => {
  const store = await realStore();
  const name = 'x'.repeat(4_000_000);
  const refuse = () => Promise.reject(new HeddleError('NAME_UNKNOWN', 'No.'));
  await trace(store.traces, NOTHING)(aCall({ name }), refuse).catch(() => {});
  await trace(store.traces, () => ({ name: 'mcp__demo__echo' }))(aCall({ name }), refuse).catch(() => {});
  await expect.poll(async () => (await store.traces.get(OWN)).length).toBe(2);
  const [unknown, known] = await store.traces.get(OWN);
  expect(unknown?.name).toBe(`${'x'.repeat(255)}…`);
  expect(known).toMatchObject({ name: 'mcp__demo__echo', attributes: { written: `${'x'.repeat(255)}…` } });
});

verifies('V1', 'a failed call leaves a span with its error code', async () => {
  expect(await spanOf({}, OWN, new HeddleError('RATE_LIMITED', 'Wait.'))).toMatchObject({ outcome: 'RATE_LIMITED' });
});

verifies('V1', 'a span has the public name and the server for any spelling of the name', async () => {
  const subject: Subject = () => ({ name: 'mcp__demo__echo', server: 'other' });
  const ok = await spanOf({}, OWN, undefined, subject);
  expect(ok).toMatchObject({ name: 'mcp__demo__echo', server: 'demo', attributes: { written: 'demo.echo' } });
  const failed = await spanOf({}, OWN, new HeddleError('UPSTREAM_TIMEOUT', 'Late.'), subject);
  expect(failed).toMatchObject({ name: 'mcp__demo__echo', server: 'other', outcome: 'UPSTREAM_TIMEOUT' });
});

verifies('V1', 'a span joins the trace of the caller’s traceparent', async () => {
  const span = await spanOf({ traceparent: `00-${TRACE}-${PARENT}-01` }, TRACE);
  expect(span).toMatchObject({ traceId: TRACE, parentId: PARENT });
});

const BROKEN = [
  `00-${'0'.repeat(32)}-${PARENT}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}`,
  'x',
  7,
  null,
  { a: 1 },
];
for (const traceparent of BROKEN) {
  verifies('V1', `ignores an invalid traceparent: ${JSON.stringify(traceparent)}`, async () => {
    expect((await spanOf({ traceparent }, OWN))?.parentId).toBeUndefined();
  });
}

verifies('V1', 'each continuation is a span below that of the first call', async () => {
  const store = await realStore();
  const stage = trace(store.traces, NOTHING, () => 9);
  await stage(aCall(), async () => text('hi'));
  await stage(aCall({ continuation: { kind: 'upstream', server: 'demo' } }), async () => text('hi'));
  await expect.poll(async () => (await store.traces.get(OWN)).length).toBe(2);
  const [first, second] = await store.traces.get(OWN);
  expect([second?.parentId, second?.spanId === first?.spanId]).toEqual([first?.spanId, false]);
});

verifies('W5', 'the span of a step is below that of the call that began its run', async () => {
  const store = await realStore();
  const id = '01893b1c-7b2f-7aaa-8bbb-0123456789ab';
  const traceId = id.replaceAll('-', '');
  const parent = traceparentBelow({ id, meta: {} });
  await trace(store.traces, NOTHING)(aCall({ parent }), async () => text('hi'));
  await expect.poll(async () => (await store.traces.get(traceId)).length).toBe(1);
  expect((await store.traces.get(traceId))[0]).toMatchObject({ spanId: OWN.slice(-16), parentId: traceId.slice(-16) });
});
