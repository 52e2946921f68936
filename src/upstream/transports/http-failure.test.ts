import { expect, it } from 'vitest';
import { toRefusal, toTransportFailure, waitOf } from './http-failure.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const after = (ms: number) => new Date(NOW + ms).toUTCString();

it.each([
  ['0', 0],
  ['7', 7000],
  ['3600', 60_000],
  [after(5000), 5000],
  [after(-5000), 0],
  [after(3_600_000), 60_000],
  ['soon', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['2026', 60_000],
  [undefined, undefined],
])('reads Retry-After: %s as %s ms', (written, ms) => {
  expect(waitOf(written, NOW)).toBe(ms);
});

it.each([
  ['https://other.example:8443/mcp?token=secret', 'https://other.example:8443'],
  ['/mcp/?token=secret', 'https://demo.example/mcp/'],
  ['http://[', 'another address'],
])('names where a redirect to %s leads, and none of its secrets', (location, named) => {
  const head = { ok: false, status: 308, headers: { location }, text: '' };
  const refusal = toRefusal('demo', head, new URL('https://demo.example/mcp'));
  expect(refusal.message).toContain(`points to ${named} (HTTP 308)`);
  expect(JSON.stringify([refusal.message, refusal.details])).not.toContain('secret');
  expect(refusal.fix).toContain('`url` of demo');
});

it.each([
  ['CERT_HAS_EXPIRED', /certificate has expired/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /certificate is for another name/],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /issuer that this machine does not trust/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', /does not use TLS at this port/],
])('names the TLS problem: %s', (code, message) => {
  const failure = toTransportFailure('demo', Object.assign(new Error('x'), { code }));
  expect(failure).toMatchObject({ code: 'UPSTREAM_UNREACHABLE', delivered: 'no', details: { code } });
  expect(failure.message).toMatch(message);
});
