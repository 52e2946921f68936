import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type ByteCount, sessionEvents } from './event-store.ts';

const idIn = (event: string) => /^id: (.+)$/m.exec(event)?.[1] ?? '';

describe('what a session was told', () => {
  verifies('P1', 'is found again after the event that was heard last, stream by stream', () => {
    const events = sessionEvents({ bytes: 0 });
    const resume = () => {};
    const [one, other] = [events.begin(resume), events.begin(resume)];
    const primed = one.keep('');
    const first = one.keep('"a"');
    other.keep('"x"');
    const second = one.keep('"b"');
    expect(primed).toMatch(/^id: 1-1\nretry: \d+\ndata:\n\n$/);
    expect(events.after(idIn(primed))).toEqual({ events: [first, second], resume });
    expect(events.after(idIn(first))).toEqual({ events: [second], resume });
    one.finish();
    expect(events.after(idIn(first))).toEqual({ events: [second], resume: undefined });
    expect(events.after(idIn(second))).toBeUndefined();
    for (const unknown of ['', '9-1', '1', '1-x', '__proto__', '-1--1']) expect(events.after(unknown)).toBeUndefined();
  });

  it('is bounded in number and size, the oldest going first', () => {
    const room: ByteCount = { bytes: 0 };
    const events = sessionEvents(room);
    const stream = events.begin(() => {});
    for (let at = 1; at <= 1000; at++) stream.keep(String(at));
    const left = () => events.after('1-0')?.events ?? [];
    expect([left().length, left().at(-1)]).toEqual([256, 'id: 1-1000\ndata: 1000\n\n']);
    for (let at = 1; at <= 10; at++) stream.keep('x'.repeat(1024 * 1024));
    expect(room.bytes).toBeLessThanOrEqual(2 * 1024 * 1024);
    stream.keep('x'.repeat(3 * 1024 * 1024));
    expect([room.bytes, left()]).toEqual([0, []]);
  });

  it('is bounded for all sessions together, and gives its room back', () => {
    const room: ByteCount = { bytes: 0 };
    const sessions = Array.from({ length: 200 }, () => sessionEvents(room));
    for (const events of sessions) events.begin(() => {}).keep('x'.repeat(1024 * 1024));
    expect(room.bytes).toBeLessThanOrEqual(128 * 1024 * 1024);
    for (const events of sessions) events.close();
    expect(room.bytes).toBe(0);
  });
});
