import { describe, expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { Call, Caller, Result } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { BrowserSignIns } from '../../core/records/sign-in.ts';
import { SIGN_IN_ELICITATION } from '../../core/records/sign-in.ts';
import { callsAfterSignIn } from './call-after-sign-in.ts';

const ADA: Caller = { id: 'key:ada', roles: ['user'], via: 'gateway' };
const PAGE = 'https://gateway.example/connect/ticket';
const URL_CAPABLE = { form: false, url: true, sampling: false, samplingTools: false, roots: false };
const DONE: Result = {
  ...{ kind: 'complete', value: { content: [] }, isError: false },
  provenance: { server: 'notes', attempts: 1, latencyMs: 0 },
};

const callOf = (more: Partial<Call> = {}): Call => ({
  ...{ id: 'call-1', kind: 'tool', name: 'mcp__notes__read', input: {}, meta: {}, options: {}, caller: ADA },
  signal: new AbortController().signal,
  ...more,
});

const needed = () =>
  new UpstreamError('AUTH_NEEDED', 'notes needs a sign-in.', { delivered: 'no', details: { server: 'notes' } });

/** Creates calls over a server that refuses until the caller is signed in. Its timer fires when the test says so. */
function refusingServer(pageFor: BrowserSignIns['pageFor'] = async () => PAGE) {
  const state = { isSignedIn: false, dispatched: [] as Call[] };
  const timers: { readonly delayMs: number; readonly callback: () => void }[] = [];
  const calls = callsAfterSignIn({
    heddle: {
      async dispatch(call) {
        state.dispatched.push(call);
        if (!state.isSignedIn) throw needed();
        return DONE;
      },
      browserSignIns: { pageFor, isSignedIn: async () => state.isSignedIn } as unknown as BrowserSignIns,
    },
    timer(delayMs, callback) {
      const one = { delayMs, callback };
      timers.push(one);
      return () => void timers.splice(timers.indexOf(one), 1);
    },
  });
  const fire = (delayMs: number) => {
    const at = timers.findIndex((one) => one.delayMs === delayMs);
    timers.splice(at, 1)[0]?.callback();
  };
  return { state, calls, timers, fire };
}

const accept = (result: Result, more: Partial<Call> = {}): Call => {
  if (result.kind !== 'input-required') throw new Error(`no input is required: ${result.kind}`);
  return callOf({
    capabilities: URL_CAPABLE,
    continuation: result.continuation,
    inputResponses: { sign_in: { action: 'accept' } },
    ...more,
  });
};

describe('a call of a caller without a token', () => {
  verifies('A6', 'asks a client that can show URLs to open the page, and goes on after the sign-in', async () => {
    const { state, calls } = refusingServer();
    const first = await calls.dispatch(callOf({ capabilities: URL_CAPABLE }));
    expect(first).toMatchObject({
      kind: 'input-required',
      inputRequests: { sign_in: { method: 'elicitation/create', params: { mode: 'url', url: PAGE } } },
      continuation: { kind: 'call-again', server: 'notes', after: [expect.stringContaining(SIGN_IN_ELICITATION)] },
    });
    const onElicitationComplete = vi.fn();
    const again = calls.dispatch(accept(first, { onElicitationComplete }));
    state.isSignedIn = true;
    calls.onSignedIn(ADA, 'notes');
    expect(await again).toBe(DONE);
    expect(onElicitationComplete).toHaveBeenCalledOnce();
    expect(state.dispatched.map(({ continuation }) => continuation)).toEqual([undefined, undefined]);
  });

  verifies('A6', 'notices a sign-in at another replica by reading the store again', async () => {
    const { state, calls, timers, fire } = refusingServer();
    const again = calls.dispatch(accept(await calls.dispatch(callOf({ capabilities: URL_CAPABLE }))));
    await until('the call waits', () => timers.length === 2);
    state.isSignedIn = true;
    fire(500);
    expect(await again).toBe(DONE);
    expect(timers).toEqual([]);
  });

  verifies('A6', 'waits 20 s for the sign-in, then returns a new URL', async () => {
    const { calls, timers, fire } = refusingServer();
    const again = calls.dispatch(accept(await calls.dispatch(callOf({ capabilities: URL_CAPABLE }))));
    await until('the call waits', () => timers.length === 2);
    fire(20_000);
    expect(await again).toMatchObject({ kind: 'complete', isError: true });
    expect(JSON.stringify(await again)).toContain(PAGE);
  });

  verifies('A6', 'gets the URL in an error result if its client cannot show URLs', async () => {
    const { calls } = refusingServer();
    const result = await calls.dispatch(callOf());
    expect(result).toMatchObject({ kind: 'complete', isError: true, value: { isError: true } });
    expect(JSON.stringify(result)).toContain(`call again: ${PAGE}`);
  });

  it('gets an error result after it declined', async () => {
    const { calls, state } = refusingServer();
    const first = await calls.dispatch(callOf({ capabilities: URL_CAPABLE }));
    const result = await calls.dispatch(accept(first, { inputResponses: { sign_in: { action: 'decline' } } }));
    expect(result).toMatchObject({ kind: 'complete', isError: true });
    expect(state.dispatched).toHaveLength(1);
  });

  it('gets the URL in the advice of the error for a resource', async () => {
    const { calls } = refusingServer();
    const thrown = await calls.dispatch(callOf({ kind: 'resource' })).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'AUTH_NEEDED', fix: expect.stringContaining(PAGE) });
  });

  it('ends its wait when the client cancels', async () => {
    const { calls, timers } = refusingServer();
    const cancel = new AbortController();
    const first = await calls.dispatch(callOf({ capabilities: URL_CAPABLE }));
    const again = calls.dispatch(accept(first, { signal: cancel.signal }));
    await until('the call waits', () => timers.length === 2);
    cancel.abort();
    await expect(again).rejects.toThrow('aborted');
    expect(timers).toEqual([]);
  });
});

it('passes on the error of a server whose credentials are shared, and other errors', async () => {
  const { calls } = refusingServer(async () => undefined);
  await expect(calls.dispatch(callOf({ capabilities: URL_CAPABLE }))).rejects.toThrow('notes needs a sign-in.');
  const broken = callsAfterSignIn({
    heddle: {
      dispatch: () => Promise.reject(new HeddleError('NAME_UNKNOWN', 'No such tool.')),
      browserSignIns: {} as BrowserSignIns,
    },
  });
  await expect(broken.dispatch(callOf())).rejects.toThrow('No such tool.');
});
