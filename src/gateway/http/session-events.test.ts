import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type ByteCount, sessionEvents } from './session-events.ts';

const idIn = (event: string) => /^id: (.+)$/m.exec(event)?.[1] ?? '';

describe('sessionEvents', () => {
  verifies('P1', 'returns the events of a stream after an event id', () => {
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

  it('keeps at most 256 events and 2 MB, dropping the oldest', () => {
    const total: ByteCount = { bytes: 0 };
    const events = sessionEvents(total);
    const stream = events.begin(() => {});
    for (let count = 1; count <= 1000; count++) stream.keep(String(count));
    const left = () => events.after('1-0')?.events ?? [];
    expect([left().length, left().at(-1)]).toEqual([256, 'id: 1-1000\ndata: 1000\n\n']);
    for (let count = 1; count <= 10; count++) stream.keep('x'.repeat(1024 * 1024));
    expect(total.bytes).toBeLessThanOrEqual(2 * 1024 * 1024);
    stream.keep('x'.repeat(3 * 1024 * 1024));
    expect([total.bytes, left()]).toEqual([0, []]);
  });

  it('keeps at most 128 MB for all sessions, and frees them on close', () => {
    const total: ByteCount = { bytes: 0 };
    const sessions = Array.from({ length: 200 }, () => sessionEvents(total));
    for (const events of sessions) events.begin(() => {}).keep('x'.repeat(1024 * 1024));
    expect(total.bytes).toBeLessThanOrEqual(128 * 1024 * 1024);
    for (const events of sessions) events.close();
    expect(total.bytes).toBe(0);
  });
});
