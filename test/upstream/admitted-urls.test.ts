import { expect } from 'vitest';
import type { ClientCapabilities, JsonObject } from '../../src/core/call.ts';
import { aTarget } from '../../src/core/fixtures.ts';
import { presentTool } from '../../src/gateway/methods/present-tool.ts';
import { openServerRequests } from '../../src/upstream/elicitation/server-requests.ts';
import type { SuspendedCalls } from '../../src/upstream/elicitation/suspended-calls.ts';
import { toFailure } from '../../src/upstream/failure.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { verifies } from '../requirements.ts';

const capabilities: ClientCapabilities = { form: true, url: true, sampling: false, samplingTools: false, roots: false };
const { admit } = openServerRequests({
  suspendedCalls: {} as SuspendedCalls,
  roots: () => [],
  sampling: () => ({ maxCalls: 1, windowMs: 1, maxTokens: 1 }),
});
const admitted = (params: JsonObject) =>
  admit('demo', { method: 'elicitation/create', params }, { capabilities, principal: 'ada' }).params;

verifies('T10', 'sends the client the URL as it was parsed and checked', () => {
  for (const [url, href] of [
    ['https://good.example\\@evil.example/', 'https://good.example/@evil.example/'],
    ['https:\\\\good.example\\a', 'https://good.example/a'],
    ['https://\u0430pple.example/', 'https://xn--pple-43d.example/'],
    ['https://good\uff0eexample', 'https://good.example/'],
    [' https://good.example/a\n', 'https://good.example/a'],
    ['ht\ttps://good.example', 'https://good.example/'],
    ['HTTPS:good.example/a b\u202ec', 'https://good.example/a%20b%E2%80%AEc'],
    ['https://good.example:443/../a', 'https://good.example/a'],
  ]) {
    expect(admitted({ mode: 'url', message: 'Sign in.', elicitationId: '1', url: url as string })?.url).toBe(href);
  }
});

verifies('T10', 'removes the URL of a form, and the form of a URL', () => {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
  const url = 'javascript:alert(1)';
  for (const mode of [{}, { mode: 'form' }]) {
    const form = { ...mode, message: 'Who?', requestedSchema, other: 1 };
    expect(admitted({ ...form, url })).toEqual(form);
  }
  const visit = { mode: 'url', message: 'Sign in.', url: 'https://good.example/', elicitationId: '1' };
  expect(admitted({ ...visit, requestedSchema })).toEqual(visit);
});

verifies('T10', 'passes on only checked URLs of a -32042 error', () => {
  const page = (url: unknown) => ({ mode: 'url', message: 'Sign in.', elicitationId: '1', url }) as JsonObject;
  const data = {
    elicitations: [
      page('javascript:alert(1)'),
      page('https://good.example\\a'),
      page(1),
      'x',
      page('http://a.example/'),
    ],
    other: 1,
  };
  const { details } = toFailure('demo', new RpcError(-32042, 'Visit first.', data));
  expect(details).toMatchObject({
    rpc: { code: -32042, data: { elicitations: [page('https://good.example/a')], other: 1 } },
  });
});

verifies('P1', 'removes an icon whose source is neither https, http nor data', () => {
  const icons = (src: string) =>
    presentTool(aTarget({ definition: { name: 't', inputSchema: { type: 'object' }, icons: [{ src }] } }), 'modern')
      .icons;
  for (const src of ['javascript:alert(1)', 'file:///etc/passwd', ' javascript:x', 'ftp://a.example/i', 'vbscript:x']) {
    expect([src, icons(src)]).toEqual([src, undefined]);
  }
  for (const src of ['https://a.example/i.png', 'http://127.0.0.1/i', 'data:image/png;base64,AA==']) {
    expect(icons(src)).toEqual([{ src }]);
  }
});
