import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aCall } from '../../core/fixtures.ts';
import { type OpenedState, requestStates, STATE_TTL_MS, type StateContent } from './request-state.ts';
import { sealer } from './seal.ts';

const call = aCall({ input: { b: 1, a: [2] } });
const eve = { ...call, caller: { ...call.caller, id: 'eve' } };
const CONTINUATIONS: readonly StateContent[] = [
  { kind: 'upstream', server: 'demo', state: 'önly theirs \u0000 "' },
  { kind: 'upstream', server: 'demo' },
  { kind: 'suspended', server: 'demo', ticket: 'ticket-1' },
  { kind: 'call-again', server: 'demo', after: ['a', 'b'] },
  { kind: 'upstream', server: 'demo', state: 'theirs', approved: { id: 'ap_1', digest: 'd', nonce: 'n' } },
  { kind: 'suspended', server: 'demo', ticket: 'ticket-1', approved: { id: 'ap_1', digest: 'd', nonce: 'n' } },
  { kind: 'call-again', server: 'demo', after: [], approved: { id: 'ap_1', digest: 'd', nonce: 'n' } },
  { kind: 'approval', id: 'ap_1' },
];
const [UPSTREAM, , PARKED, CALL_AGAIN] = CONTINUATIONS as [StateContent, StateContent, StateContent, StateContent];
const APPROVAL: StateContent = { kind: 'approval', id: 'ap_1' };
const secret = (seed: string) => Buffer.alloc(32, seed);

describe('a sealed requestState', () => {
  it.each(CONTINUATIONS)('P3: opens with its continuation: %j', (continuation) => {
    const states = requestStates();
    const opened = states.open(states.seal(continuation, call), call);
    expect(opened).toEqual({ callId: call.id, continuation, isElsewhere: false });
  });

  verifies('P3', 'is different each time and encrypted', () => {
    const states = requestStates();
    const [one, two] = [states.seal(PARKED, call), states.seal(PARKED, call)];
    expect(one).not.toBe(two);
    const [, , body = ''] = one.split('.');
    for (const hidden of ['demo', 'ticket', call.id]) expect(Buffer.from(body, 'base64url')).not.toContain(hidden);
    expect(one.length).toBeLessThan(400);
  });

  verifies('P3', 'opens for the same call with another argument order, _meta and id', () => {
    const states = requestStates();
    const later = { ...call, id: 'another', input: { a: [2], b: 1 }, meta: { trace: 1 } };
    expect(states.open(states.seal(UPSTREAM, call), later)).toMatchObject({ callId: call.id, continuation: UPSTREAM });
  });

  it.each([
    ['another principal', eve, 'foreign-principal'],
    ['another profile', { ...call, caller: { ...call.caller, profile: 'support' } }, 'foreign-principal'],
    ['another tool', { ...call, name: 'demo.other' }, 'other-call'],
    ['another kind of request', { ...call, kind: 'prompt' as const }, 'other-call'],
    ['other arguments', { ...call, input: { b: 1, a: [3] } }, 'other-call'],
  ])('P3: is rejected with %s, and still opens for its own call', (_, other, reason) => {
    const states = requestStates();
    const sealed = states.seal(UPSTREAM, call);
    expect(states.open(sealed, other)).toBe(reason);
    expect(states.open(sealed, call)).toMatchObject({ continuation: UPSTREAM });
  });

  verifies('P3', 'is recognized on second use: call-again is rejected, upstream is marked `again`', () => {
    const states = requestStates();
    const opened = (continuation: StateContent) => {
      const sealed = states.seal(continuation, call);
      const first = states.open(sealed, call) as OpenedState;
      expect(first.continuation).toEqual(continuation);
      return states.open(sealed, call);
    };
    expect(opened(CALL_AGAIN)).toBe('replayed');
    expect(opened(UPSTREAM)).toMatchObject({ continuation: { ...UPSTREAM, again: true } });
    expect((opened(PARKED) as OpenedState).continuation).toEqual(PARKED); // Its ticket is single-use by itself.
  });

  verifies(
    'G7',
    'of an approval may be used again, and lives longer than a call: the store knows if it is over',
    () => {
      let now = 1_000_000;
      const states = requestStates(sealer({ clock: () => now }));
      const sealed = states.seal(APPROVAL, call);
      now += STATE_TTL_MS * 10;
      const both = [states.open(sealed, call), states.open(sealed, call)];
      expect(both).toMatchObject([{ continuation: APPROVAL }, { continuation: APPROVAL }]);
      expect(states.open(sealed, { ...call, input: {} })).toBe('other-call');
      expect(states.open(sealed, eve)).toBe('foreign-principal');
    },
  );

  verifies('P3', 'is rejected with any character changed', () => {
    const states = requestStates();
    const sealed = states.seal(PARKED, call);
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      const opened = states.open(sealed.slice(0, at) + other + sealed.slice(at + 1), call);
      expect(opened, `character ${at}`).toBeTypeOf('string');
    }
    expect(states.open(sealed, call)).toMatchObject({ continuation: PARKED });
  });

  it.each([
    ['a suffix', (sealed: string) => `${sealed}-TAMPERED`, 'forged'],
    ['padding', (sealed: string) => `${sealed}=`, 'malformed'],
    ['a cut', (sealed: string) => sealed.slice(0, 30), 'malformed'],
    ['nothing', () => '', 'malformed'],
    ['garbage', () => 'h1.AAAAAAAA.!!', 'malformed'],
    ['a number', () => 12, 'not-text'],
    ['null', () => null, 'not-text'],
    ['too much', (sealed: string) => sealed + 'A'.repeat(65_536), 'too-long'],
  ])('P3: is rejected with %s', (_, change, reason) => {
    const states = requestStates();
    const opened = states.open(change(states.seal(UPSTREAM, call)), call);
    if (reason === 'forged') expect(['forged', 'malformed']).toContain(opened);
    else expect(opened).toBe(reason);
  });

  verifies('P3', 'is rejected in another base64url spelling of the same bytes', () => {
    const states = requestStates(sealer({ secrets: [secret('a')] }));
    const seals = Array.from({ length: 3 }, (_, more) =>
      states.seal({ kind: 'upstream', server: 'x'.repeat(more) }, call),
    );
    const alternatives = seals.flatMap((sealed) => {
      const body = sealed.split('.')[2] as string;
      return [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
        .map((last) => body.slice(0, -1) + last)
        .filter((one) => one !== body && Buffer.from(one, 'base64url').equals(Buffer.from(body, 'base64url')))
        .map((one) => `${sealed.slice(0, -body.length)}${one}`);
    });
    expect(alternatives.length).toBeGreaterThan(0);
    for (const one of alternatives) expect(states.open(one, call)).toBe('malformed');
  });

  verifies('P3', 'expires after STATE_TTL_MS', () => {
    let now = 1_000_000;
    const states = requestStates(sealer({ clock: () => now }));
    const sealed = states.seal(PARKED, call);
    now += STATE_TTL_MS - 1;
    expect(states.open(sealed, call)).toMatchObject({ continuation: PARKED });
    now += 1001;
    expect(states.open(sealed, call)).toBe('expired');
  });
});

describe('state secrets', () => {
  verifies('P3', 'reject a state sealed or forged with another secret', () => {
    const [ours, theirs] = [requestStates(), requestStates()];
    expect(ours.open(theirs.seal(UPSTREAM, call), call)).toBe('unknown-key');
    const [, id] = ours.seal(UPSTREAM, call).split('.');
    const [version, , body] = theirs.seal(UPSTREAM, call).split('.');
    expect(ours.open([version, id, body].join('.'), call)).toBe('forged');
  });

  verifies('P3', 'can be rotated: the old secret still opens, the new one seals', () => {
    const before = requestStates(sealer({ secrets: [secret('a')] }));
    const after = requestStates(sealer({ secrets: [secret('b'), secret('a')] }));
    expect(after.open(before.seal(UPSTREAM, call), call)).toMatchObject({ continuation: UPSTREAM });
    expect(before.open(after.seal(UPSTREAM, call), call)).toBe('unknown-key');
  });

  verifies('P3', 'shared by two processes open in both; a suspended call of the other is marked', () => {
    const [one, two] = [
      requestStates(sealer({ secrets: [secret('a')] })),
      requestStates(sealer({ secrets: [secret('a')] })),
    ];
    expect((two.open(one.seal(UPSTREAM, call), call) as OpenedState).isElsewhere).toBe(false);
    expect((two.open(one.seal(PARKED, call), call) as OpenedState).isElsewhere).toBe(true);
  });
});
