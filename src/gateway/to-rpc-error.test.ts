import { describe, expect, it } from 'vitest';
import type { Call, ClientCapabilities, JsonObject } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import { toCallError, toReadError } from './to-rpc-error.ts';

const LEGACY = { era: 'legacy' } as const;
const MODERN = { era: 'modern' } as const;

const refusedFor = (requiredCapabilities: JsonObject) => {
  const rpc = { code: -32021, message: 'Cannot ask.', data: { requiredCapabilities } };
  return new UpstreamError('UPSTREAM_REFUSED', 'demo refused.', { delivered: 'maybe', details: { rpc } });
};

describe('a server that needs a client which can be asked', () => {
  it.each<[JsonObject, string]>([
    [{ elicitation: { form: {} } }, 'elicitation by form'],
    [{ elicitation: {} }, 'elicitation by form'],
    [{ elicitation: { url: {} } }, 'elicitation by URL'],
    [{ elicitation: { form: {} }, sampling: { tools: {} } }, 'elicitation by form or sampling'],
    [{ roots: {} }, 'roots'],
  ])('%j is told an older client in words that its user can act on', (required, lacking) => {
    const text = `Cannot ask. This client does not support ${lacking}. Use one that does.`;
    expect(toCallError(refusedFor(required), LEGACY)).toEqual({ isError: true, content: [{ type: 'text', text }] });
    const call = { kind: 'prompt', name: 'greet' } as Call;
    expect(toReadError(HeddleError.from(refusedFor(required)), call, 'legacy')).toMatchObject({ message: text });
  });

  it.each([{}, { extensions: { other: {} } }, { elicitation: 1 }])('%j adds nothing', (required) => {
    const content = [{ type: 'text', text: 'Cannot ask.' }];
    expect(toCallError(refusedFor(required), LEGACY)).toEqual({ isError: true, content });
  });

  it('is told in sentences, however it ends its own', () => {
    const rpc = { code: -32021, message: 'Cannot ask', data: { requiredCapabilities: { roots: {} } } };
    const refused = new UpstreamError('UPSTREAM_REFUSED', 'demo refused.', { delivered: 'maybe', details: { rpc } });
    const text = 'Cannot ask. This client does not support roots. Use one that does.';
    expect(toCallError(refused, LEGACY)).toMatchObject({ content: [{ text }] });
  });

  it('says it to a modern client in its own words, code and all', () => {
    const data = { requiredCapabilities: { sampling: {} } };
    expect(() => toCallError(refusedFor({ sampling: {} }), MODERN)).toThrow(
      expect.objectContaining({ code: -32021, message: 'Cannot ask.', data }),
    );
  });
});

describe('a server that refuses until a page is visited', () => {
  const rpc = { code: -32042, message: 'Sign in first', data: { elicitations: [] } };
  const refused = new UpstreamError('UPSTREAM_REFUSED', rpc.message, { delivered: 'maybe', details: { rpc } });
  const capabilities: ClientCapabilities = {
    form: true,
    url: true,
    sampling: false,
    samplingTools: false,
    roots: false,
  };
  const unvisited = expect.stringMatching(/Sign in first\. The page .* was not visited.* call again\./);

  it('does not say of a modern client that can visit pages that it cannot', () => {
    expect(toCallError(refused, { ...MODERN, capabilities })).toMatchObject({
      isError: true,
      content: [{ text: unvisited }],
    });
    const call = { kind: 'prompt', name: 'greet', capabilities } as Call;
    expect(toReadError(refused, call, 'modern')).toMatchObject({ code: -32603, message: unvisited });
  });

  it.each([undefined, { ...capabilities, url: false }])('lacks an ability where there is none: %j', (none) => {
    expect(() => toCallError(refused, { ...MODERN, capabilities: none })).toThrow(
      expect.objectContaining({ code: -32021 }),
    );
    const call = { kind: 'prompt', name: 'greet', ...(none && { capabilities: none }) } as Call;
    expect(toReadError(refused, call, 'modern')).toMatchObject({ code: -32021 });
  });

  it('says so to an older client in its own words', () => {
    expect(() => toCallError(refused, { ...LEGACY, capabilities })).toThrow(expect.objectContaining(rpc));
  });
});
