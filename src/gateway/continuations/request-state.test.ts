import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aCall } from '../../core/fixtures.ts';
import { type OpenedState, requestStates, STATE_TTL_MS, type StateContent } from './request-state.ts';
import { sealer } from './seal.ts';

const call = aCall({ input: { b: 1, a: [2] } });
const eve = { ...call, caller: { ...call.caller, id: 'eve' } };
const NEXTS: readonly StateContent[] = [
  { kind: 'upstream', server: 'demo', state: 'önly theirs \u0000 "' },
  { kind: 'upstream', server: 'demo' },
  { kind: 'suspended', server: 'demo', ticket: 'ticket-1' },
  { kind: 'call-again', server: 'demo', after: ['a', 'b'] },
];
const [UPSTREAM, , PARKED, CALL_AGAIN] = NEXTS as [StateContent, StateContent, StateContent, StateContent];
const secret = (seed: string) => Buffer.alloc(32, seed);

describe('a sealed state', () => {
  it.each(NEXTS)('P3: opens as what was sealed: %j', (next) => {
    const states = requestStates();
    const opened = states.open(states.seal(next, call), call);
    expect(opened).toEqual({ callId: call.id, next, isElsewhere: false });
  });

  verifies('P3', 'is another each time, and shows nothing of what it holds', () => {
    const states = requestStates();
    const [one, two] = [states.seal(PARKED, call), states.seal(PARKED, call)];
    expect(one).not.toBe(two);
    const [, , body = ''] = one.split('.');
    for (const hidden of ['demo', 'ticket', call.id]) expect(Buffer.from(body, 'base64url')).not.toContain(hidden);
    expect(one.length).toBeLessThan(400);
  });

  verifies('P3', 'does not mind the order of arguments, the meta or the id of the next round', () => {
    const states = requestStates();
    const later = { ...call, id: 'another', input: { a: [2], b: 1 }, meta: { trace: 1 } };
    expect(states.open(states.seal(UPSTREAM, call), later)).toMatchObject({ callId: call.id, next: UPSTREAM });
  });

  it.each([
    ['another principal', eve, 'foreign-principal'],
    ['another profile', { ...call, caller: { ...call.caller, profile: 'support' } }, 'foreign-principal'],
    ['another tool', { ...call, name: 'demo.other' }, 'other-call'],
    ['another kind of request', { ...call, kind: 'prompt' as const }, 'other-call'],
    ['other arguments', { ...call, input: { b: 1, a: [3] } }, 'other-call'],
  ])('P3: is worth nothing with %s, and stays good', (_, other, why) => {
    const states = requestStates();
    const sealed = states.seal(UPSTREAM, call);
    expect(states.open(sealed, other)).toBe(why);
    expect(states.open(sealed, call)).toMatchObject({ next: UPSTREAM });
  });

  verifies('P3', 'that was used is known: no server is called anew with it, and what goes on again says so', () => {
    const states = requestStates();
    const opened = (next: StateContent) => {
      const sealed = states.seal(next, call);
      const first = states.open(sealed, call) as OpenedState;
      expect(first.next).toEqual(next);
      return states.open(sealed, call);
    };
    expect(opened(CALL_AGAIN)).toBe('replayed');
    expect(opened(UPSTREAM)).toMatchObject({ next: { ...UPSTREAM, again: true } });
    expect((opened(PARKED) as OpenedState).next).toEqual(PARKED); // A call that waits goes on once, and knows so itself.
  });

  verifies('P3', 'with any of its characters changed is not believed', () => {
    const states = requestStates();
    const sealed = states.seal(PARKED, call);
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      const opened = states.open(sealed.slice(0, at) + other + sealed.slice(at + 1), call);
      expect(opened, `character ${at}`).toBeTypeOf('string');
    }
    expect(states.open(sealed, call)).toMatchObject({ next: PARKED });
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
  ])('P3: with %s is not believed', (_, change, why) => {
    const states = requestStates();
    const opened = states.open(change(states.seal(UPSTREAM, call)), call);
    if (why === 'forged') expect(['forged', 'malformed']).toContain(opened);
    else expect(opened).toBe(why);
  });

  verifies('P3', 'written in another base64 that means the same bytes is not believed', () => {
    const states = requestStates(sealer({ secrets: [secret('a')] }));
    const seals = Array.from({ length: 3 }, (_, more) => states.seal({ ...UPSTREAM, server: 'x'.repeat(more) }, call));
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

  verifies('P3', 'expires when a parked call does', () => {
    let now = 1_000_000;
    const states = requestStates(sealer({ clock: () => now }));
    const sealed = states.seal(PARKED, call);
    now += STATE_TTL_MS - 1;
    expect(states.open(sealed, call)).toMatchObject({ next: PARKED });
    now += 1001;
    expect(states.open(sealed, call)).toBe('expired');
  });
});

describe('keys', () => {
  verifies('P3', 'of another secret neither open nor forge', () => {
    const [ours, theirs] = [requestStates(), requestStates()];
    expect(ours.open(theirs.seal(UPSTREAM, call), call)).toBe('unknown-key');
    const [, id] = ours.seal(UPSTREAM, call).split('.');
    const [version, , body] = theirs.seal(UPSTREAM, call).split('.');
    expect(ours.open([version, id, body].join('.'), call)).toBe('forged');
  });

  verifies('P3', 'may be rotated: the old one still opens, the new one seals', () => {
    const before = requestStates(sealer({ secrets: [secret('a')] }));
    const after = requestStates(sealer({ secrets: [secret('b'), secret('a')] }));
    expect(after.open(before.seal(UPSTREAM, call), call)).toMatchObject({ next: UPSTREAM });
    expect(before.open(after.seal(UPSTREAM, call), call)).toBe('unknown-key');
  });

  verifies('P3', 'that two processes share let either go on, and say what waits in the other', () => {
    const [one, two] = [
      requestStates(sealer({ secrets: [secret('a')] })),
      requestStates(sealer({ secrets: [secret('a')] })),
    ];
    expect((two.open(one.seal(UPSTREAM, call), call) as OpenedState).isElsewhere).toBe(false);
    expect((two.open(one.seal(PARKED, call), call) as OpenedState).isElsewhere).toBe(true);
  });
});
