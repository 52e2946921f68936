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

describe('a server that requires a client capability', () => {
  it.each<[JsonObject, string]>([
    [{ elicitation: { form: {} } }, 'elicitation by form'],
    [{ elicitation: {} }, 'elicitation by form'],
    [{ elicitation: { url: {} } }, 'elicitation by URL'],
    [{ elicitation: { form: {} }, sampling: { tools: {} } }, 'elicitation by form or sampling'],
    [{ roots: {} }, 'roots'],
  ])('names %j to a legacy client in the message', (required, lacking) => {
    const text = `Cannot ask. This client does not support ${lacking}. Use one that does.`;
    expect(toCallError(refusedFor(required), LEGACY)).toEqual({ isError: true, content: [{ type: 'text', text }] });
    const call = { kind: 'prompt', name: 'greet' } as Call;
    expect(toReadError(HeddleError.from(refusedFor(required)), call, 'legacy')).toMatchObject({ message: text });
  });

  it.each([{}, { extensions: { other: {} } }, { elicitation: 1 }])('does not change the message for %j', (required) => {
    const content = [{ type: 'text', text: 'Cannot ask.' }];
    expect(toCallError(refusedFor(required), LEGACY)).toEqual({ isError: true, content });
  });

  it('ends the message of the server with a period', () => {
    const rpc = { code: -32021, message: 'Cannot ask', data: { requiredCapabilities: { roots: {} } } };
    const refused = new UpstreamError('UPSTREAM_REFUSED', 'demo refused.', { delivered: 'maybe', details: { rpc } });
    const text = 'Cannot ask. This client does not support roots. Use one that does.';
    expect(toCallError(refused, LEGACY)).toMatchObject({ content: [{ text }] });
  });

  it('passes the error unchanged to a modern client', () => {
    const data = { requiredCapabilities: { sampling: {} } };
    expect(() => toCallError(refusedFor({ sampling: {} }), MODERN)).toThrow(
      expect.objectContaining({ code: -32021, message: 'Cannot ask.', data }),
    );
  });
});

describe('a server that requires URL elicitation', () => {
  const rpc = { code: -32042, message: 'Sign in first', data: { elicitations: [] } };
  const refused = new UpstreamError('UPSTREAM_REFUSED', rpc.message, { delivered: 'maybe', details: { rpc } });
  const capabilities: ClientCapabilities = {
    form: true,
    url: true,
    sampling: false,
    samplingTools: false,
    roots: false,
  };
  const notVisited = expect.stringMatching(/Sign in first\. The required page was not visited.* call again\./);

  it('tells a modern client with URL elicitation that the page was not visited', () => {
    expect(toCallError(refused, { ...MODERN, capabilities })).toMatchObject({
      isError: true,
      content: [{ text: notVisited }],
    });
    const call = { kind: 'prompt', name: 'greet', capabilities } as Call;
    expect(toReadError(refused, call, 'modern')).toMatchObject({ code: -32603, message: notVisited });
  });

  it.each([undefined, { ...capabilities, url: false }])(
    'is a missing capability for a modern client without URL elicitation: %j',
    (none) => {
      expect(() => toCallError(refused, { ...MODERN, capabilities: none })).toThrow(
        expect.objectContaining({ code: -32021 }),
      );
      const call = { kind: 'prompt', name: 'greet', ...(none && { capabilities: none }) } as Call;
      expect(toReadError(refused, call, 'modern')).toMatchObject({ code: -32021 });
    },
  );

  it('passes the error unchanged to a legacy client', () => {
    expect(() => toCallError(refused, { ...LEGACY, capabilities })).toThrow(expect.objectContaining(rpc));
  });
});
