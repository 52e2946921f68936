import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Handler, Result } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { aCall, text } from '../core/fixtures.ts';
import { audit } from './audit.ts';
import { realStore } from './fixtures.ts';

const refused = new HeddleError('NAME_UNKNOWN', 'Nothing is named x.');
const ENDS: Readonly<Record<string, readonly [Handler, string, string | undefined]>> = {
  'an answer': [async () => text('hi'), 'ok', 'demo'],
  'a tool error': [
    async () => ({ ...(text('no') as Extract<Result, { kind: 'complete' }>), isError: true }),
    'tool-error',
    'demo',
  ],
  'a question': [
    async () => ({ kind: 'input-required', inputRequests: {}, continuation: { kind: 'upstream', server: 'demo' } }),
    'input-required',
    'demo',
  ],
  'an unknown name': [() => Promise.reject(refused), 'NAME_UNKNOWN', undefined],
  'a denial': [() => Promise.reject(new HeddleError('PERMISSION_DENIED', 'No.')), 'PERMISSION_DENIED', undefined],
  'an unknown outcome': [
    () => Promise.reject(new HeddleError('OUTCOME_UNKNOWN', 'Who knows.')),
    'OUTCOME_UNKNOWN',
    undefined,
  ],
  'a mistake of ours': [() => Promise.reject(new TypeError('x is not a function')), 'INTERNAL', undefined],
};

for (const [end, [next, outcome, server]] of Object.entries(ENDS)) {
  verifies('G11', `an attempt that ends in ${end} leaves one closing record`, async () => {
    const store = await realStore();
    await audit(store.audit, () => 7)(aCall({ name: 'as.written' }), next).catch(() => {});
    await expect.poll(store.phases).toEqual(['outcome']);
    const [record] = await store.audit.search({ limit: 10 });
    expect(record).toMatchObject({ phase: 'outcome', at: 7, name: 'as.written', caller: 'ada', via: 'gateway' });
    expect(record?.detail).toMatchObject({ outcome, durationMs: expect.any(Number), ...(server && { server }) });
    expect('server' in (record?.detail ?? {})).toBe(server !== undefined);
  });
}

verifies('G11', 'records only the beginning of a very long name', async () => {
  const store = await realStore();
  await audit(store.audit)(aCall({ name: 'x'.repeat(4_000_000) }), () => Promise.reject(refused)).catch(() => {});
  await expect.poll(store.phases).toEqual(['outcome']);
  expect((await store.audit.search({ limit: 1 }))[0]?.name).toBe(`${'x'.repeat(255)}…`);
});

verifies('G11', 'rethrows an error unchanged', async () => {
  const store = await realStore();
  await expect(audit(store.audit)(aCall(), () => Promise.reject(refused))).rejects.toBe(refused);
});
