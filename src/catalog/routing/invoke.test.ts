import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type Fault, faultyServer } from '../../../test/servers/faulty-server.ts';
import type { Facts } from '../../core/call/facts.ts';
import type { Handler, ResolvedCall, Result, RoutingOptions } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { aCall, aStatus, aTarget } from '../../core/fixtures.ts';
import type { Connect, Connection } from '../../upstream/connection.ts';
import { openWorld, someMetrics } from '../fixtures.ts';
import { invoke } from './invoke.ts';

interface Pool {
  readonly acted: string[];
  readonly started: readonly string[];
  readonly send: Handler<ResolvedCall>;
}

/** Two servers that answer for one another; what is given instead of one is how it fails to connect. */
async function openPool(instead: Readonly<Record<string, Connect>> = {}): Promise<Pool> {
  const acted: string[] = [];
  const server = (name: string) => instead[name] ?? faultyServer({ name, onAct: () => acted.push(name) });
  const world = await openWorld({ a: server('a'), b: server('b') });
  return {
    acted,
    started: world.started,
    send: invoke({ servers: world.servers, metrics: someMetrics() }),
  };
}

interface Asked extends RoutingOptions {
  readonly facts?: Partial<Facts>;
  readonly signal?: AbortSignal;
  readonly a?: Fault;
  readonly b?: Fault;
}

function asked({ facts = {}, signal, a = 'works', b = 'works', ...options }: Asked): ResolvedCall {
  const target = aTarget({ publicName: 'mcp__p__act', servers: ['a', 'b'], name: 'act', facts });
  return aCall({ target, input: { faults: { a, b } }, options, ...(signal && { signal }) });
}

const from = (result: Result) =>
  result.kind === 'complete' ? [result.provenance.server, result.provenance.attempts] : result;
const fails = (code: HeddleError['code']) => async () => {
  throw new HeddleError(code, 'It cannot be.');
};

verifies('R4', 'calls only the first server if it answers', async () => {
  const { send, acted, started } = await openPool();
  expect(from(await send(asked({})))).toEqual(['a', 1]);
  expect([acted, started]).toEqual([['a'], ['a']]);
});

verifies('R4', 'fails over a write that was not delivered', async () => {
  const { send, acted } = await openPool();
  expect(from(await send(asked({ a: 'not-delivered' })))).toEqual(['b', 2]);
  expect(acted).toEqual(['b']);
});

for (const code of ['UPSTREAM_UNREACHABLE', 'SERVER_DISABLED', 'AUTH_NEEDED', 'CONFIG_INVALID'] as const) {
  verifies('R4', `fails over a write if the first server cannot be connected: ${code}`, async () => {
    const { send, acted } = await openPool({ a: fails(code) });
    expect(from(await send(asked({})))).toEqual(['b', 2]);
    expect(acted).toEqual(['b']);
  });
}

verifies('R4', 'fails over after a broken handshake, since the call was not sent', async () => {
  const broken = async () => {
    throw new UpstreamError('UPSTREAM_TIMEOUT', 'It did not shake hands.', { delivered: 'maybe' });
  };
  expect(from(await (await openPool({ a: broken })).send(asked({})))).toEqual(['b', 2]);
  const { send } = await openPool({ a: broken, b: broken });
  await expect(send(asked({}))).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
});

for (const fault of ['dies-before-acting', 'dies-after-acting', 'hangs-after-acting'] as const) {
  verifies('R4', `ends a write that may have happened with OUTCOME_UNKNOWN: ${fault}`, async () => {
    const { send, acted, started } = await openPool();
    const error = await send(asked({ a: fault, timeoutMs: 500 })).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { server: 'a' } });
    expect(error.message).toContain('mcp__p__act may have happened or not; it was not repeated.');
    expect(acted).toEqual(fault === 'dies-before-acting' ? [] : ['a']);
    expect(started).toEqual(['a']);
  });

  for (const facts of [{ readOnly: true }, { idempotent: true }]) {
    verifies('R4', `repeats a call that is ${Object.keys(facts)} at another server: ${fault}`, async () => {
      const { send } = await openPool();
      expect(from(await send(asked({ a: fault, timeoutMs: 500, facts })))).toEqual(['b', 2]);
    });
  }
}

verifies('R4', 'OUTCOME_UNKNOWN keeps the fix of its cause, unless it is the general one of its code', async () => {
  for (const [options, fix] of [
    [{ fix: 'Raise `maxMessageBytes` of demo.' }, ' Raise `maxMessageBytes` of demo.'],
    [{}, ''],
  ] as const) {
    const thrown = new UpstreamError('UPSTREAM_FAILED', 'The result is too large.', { delivered: 'maybe', ...options });
    const connect = faultyServer({ name: 'a', onAct() {} });
    const a: Connect = async (options) => ({ ...(await connect(options)), send: () => Promise.reject(thrown) });
    const { send } = await openPool({ a });
    await expect(send(asked({}))).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      fix: `Check the system that the tool acts on before you call again.${fix}`,
    });
  }
});

verifies('R4', 'a read that fails at all servers throws the server’s error', async () => {
  const { send } = await openPool();
  const lost = send(asked({ a: 'dies-after-acting', b: 'dies-after-acting', facts: { readOnly: true } }));
  await expect(lost).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
  const late = send(
    asked({ a: 'hangs-after-acting', b: 'hangs-after-acting', timeoutMs: 500, facts: { readOnly: true } }),
  );
  await expect(late).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
});

verifies('R4', 'a write that is lost after failover is OUTCOME_UNKNOWN', async () => {
  const { send } = await openPool();
  const lost = send(asked({ a: 'not-delivered', b: 'dies-after-acting' }));
  await expect(lost).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { server: 'b' } });
});

verifies('R4', 'does not fail over after a refusal, even for a read', async () => {
  const { send, acted } = await openPool();
  const refused = send(asked({ a: 'refuses', facts: { readOnly: true } }));
  await expect(refused).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED', message: 'The server refuses the call.' });
  expect(acted).toEqual([]);
});

verifies('R4', 'does not fail over after a result with isError', async () => {
  const { send, acted } = await openPool();
  expect(await send(asked({ a: 'tool-error' }))).toMatchObject({ isError: true, provenance: { server: 'a' } });
  expect(acted).toEqual(['a']);
});

verifies('R3', 'calls the preferred server first and ignores an unknown preference', async () => {
  const { send } = await openPool();
  expect(from(await send(asked({ preferredServer: 'b' })))).toEqual(['b', 1]);
  expect(from(await send(asked({ preferredServer: 'b', b: 'not-delivered' })))).toEqual(['a', 2]);
  expect(from(await send(asked({ preferredServer: 'z' })))).toEqual(['a', 1]);
});

verifies('R4', 'calls one server only with failover: false', async () => {
  const { send, started } = await openPool();
  const failed = send(asked({ failover: false, a: 'not-delivered' }));
  await expect(failed).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'no' });
  expect(started).toEqual(['a']);
});

verifies('T6', 'does not fail over a cancelled call', async () => {
  const { send, started, acted } = await openPool();
  const abort = new AbortController();
  const call = asked({ a: 'hangs-after-acting', facts: { readOnly: true }, signal: abort.signal });
  const sent = send(call);
  await expect.poll(() => acted).toEqual(['a']);
  abort.abort();
  await expect(sent).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(started).toEqual(['a']);
});

const NEXT = { kind: 'upstream', server: 'b', state: 's' } as const;

verifies('T10', 'sends a continuation only to its server', async () => {
  const { send, started } = await openPool();
  expect(from(await send({ ...asked({ preferredServer: 'a' }), continuation: NEXT }))).toEqual(['b', 1]);
  const failed = send({ ...asked({ b: 'not-delivered' }), continuation: NEXT });
  await expect(failed).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
  expect(started).toEqual(['b']);
  const elsewhere = send({ ...asked({}), continuation: { ...NEXT, server: 'z' } });
  await expect(elsewhere).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

/** Lines that fail in these ways, one after the other, and then work. */
function failing(...errors: readonly UpstreamError[]) {
  const tries: string[] = [];
  const line = (name: string) => ({
    async send(): Promise<Result> {
      tries.push(name);
      const error = errors[tries.length - 1];
      if (error) throw error;
      return { kind: 'complete', value: {}, isError: false, provenance: { server: name, attempts: 1, latencyMs: 0 } };
    },
  });
  const lines = {
    ready: () => undefined,
    connectionFor: async (name: string) => line(name) as unknown as Connection,
    resume: () => Promise.reject(new Error('It is not suspended.')),
    connectionsTo: () => 1,
    statusOf: (name: string) => aStatus({ name, state: 'connected', health: name === 'a' ? 'unhealthy' : 'ok' }),
  };
  return { tries, send: invoke({ servers: lines, metrics: someMetrics() }) };
}
const gone = (delivered: 'no' | 'maybe') =>
  new UpstreamError('UPSTREAM_FAILED', 'The session is gone.', { delivered, details: { sessionGone: true } });

verifies('T5', 'repeats a call once after a lost session', async () => {
  const once = failing(gone('no'));
  expect(from(await once.send(asked({ preferredServer: 'a', failover: false })))).toEqual(['a', 1]);
  expect(once.tries).toEqual(['a', 'a']);
  const twice = failing(gone('no'), gone('no'));
  await expect(twice.send(asked({ failover: false }))).rejects.toMatchObject({ details: { sessionGone: true } });
  const unsure = failing(gone('maybe'));
  await expect(unsure.send(asked({ failover: false }))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect(unsure.tries).toHaveLength(1);
});

verifies('T7', 'calls an unhealthy server last, unless it is preferred', async () => {
  const { send } = failing();
  expect(from(await send(asked({})))).toEqual(['b', 1]);
  expect(from(await send(asked({ preferredServer: 'a' })))).toEqual(['a', 1]);
});

verifies('R4', 'sends input responses to no other server of a pool', async () => {
  const heard: (readonly [string, unknown])[] = [];
  const listening = (name: string): Connect => {
    const connect = faultyServer({ name, onAct() {} });
    return async (options) => {
      const line = await connect(options);
      const send: Connection['send'] = (call) => {
        heard.push([name, call.inputResponses]);
        return line.send(call);
      };
      return Object.assign(Object.create(line), { send });
    };
  };
  const { send } = await openPool({ a: listening('a'), b: listening('b') });
  const answers = { who: { action: 'accept', content: { name: 'Ann' } } };
  await send({ ...asked({ a: 'not-delivered' }), inputResponses: answers });
  expect(heard).toEqual([
    ['a', undefined],
    ['b', undefined],
  ]);
  await send({ ...asked({}), inputResponses: answers, continuation: { kind: 'upstream', server: 'b' } });
  expect(heard.at(-1)).toEqual(['b', answers]);
});

for (const details of [
  { status: 401 },
  { status: 403, unsent: true },
  { issuer: 'https://as.example', unsent: true },
]) {
  verifies('F4', `keeps calling a server after ten refusals of a caller: ${JSON.stringify(details)}`, async () => {
    let isRefused = true;
    const code = details.status === 401 ? 'AUTH_NEEDED' : 'UPSTREAM_FAILED';
    const working = faultyServer({ name: 'a', onAct: () => {} });
    const refusing: Connect = async (options) => {
      const connection = await working(options);
      const refused = new UpstreamError(code, 'a wants a credential.', { delivered: 'no', details });
      return { ...connection, send: (call) => (isRefused ? Promise.reject(refused) : connection.send(call)) };
    };
    const { servers } = await openWorld({ a: refusing });
    const send = invoke({ servers, metrics: someMetrics() });
    const call = { ...asked({}), target: aTarget({ publicName: 'mcp__a__act', servers: ['a'], name: 'act' }) };
    for (let calls = 0; calls < 10; calls++) await expect(send(call)).rejects.toMatchObject({ code });
    isRefused = false;
    expect(from(await send(call))).toEqual(['a', 1]);
  });
}
