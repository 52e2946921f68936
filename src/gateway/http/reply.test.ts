import type { OutgoingHttpHeaders } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import type { ResponseWriter } from '../response-writer.ts';
import { Reply } from './reply.ts';
import { sessionEvents } from './session-events.ts';

/** A response that records what is written to it. */
class RecordingResponse implements ResponseWriter {
  headersSent = false;
  writableEnded = false;
  destroyed = false;
  status = 0;
  headers: OutgoingHttpHeaders = {};
  body = '';
  readonly writableLength = 0;
  readonly #listeners: (() => void)[] = [];

  get writableFinished(): boolean {
    return this.writableEnded;
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    Object.assign(this, { headersSent: true, status, headers });
    return this;
  }

  write(chunk: string | Buffer): boolean {
    this.body += chunk;
    return true;
  }

  end(chunk = ''): void {
    this.body += chunk;
    this.writableEnded = true;
    this.#close();
  }

  destroy(): void {
    this.destroyed = true;
    this.#close();
  }

  once(_event: 'close', listener: () => void): void {
    this.#listeners.push(listener);
  }

  #close(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

function newReply(id: number | null = 1) {
  const response = new RecordingResponse();
  return { response, reply: new Reply(response, id) };
}

const messagesIn = (body: string): JsonObject[] =>
  body.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } };
const result = { jsonrpc: '2.0', id: 1, result: { ok: 'naïf' } };

afterEach(() => vi.useRealTimers());

describe('Reply', () => {
  verifies('P1', 'sends a result as JSON with its length in bytes', () => {
    const { response, reply } = newReply();
    reply.result({ ok: 'naïf' }, { 'mcp-session-id': 's' });
    expect(response).toMatchObject({ status: 200, writableEnded: true });
    expect(response.headers).toEqual({
      'mcp-session-id': 's',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(response.body),
    });
    expect(JSON.parse(response.body)).toEqual(result);
  });

  verifies('P1', 'becomes an event stream with the first notification', () => {
    const { response, reply } = newReply();
    expect(reply.notify('notifications/progress', { progress: 1 })).toBe(true);
    reply.result({ ok: 'naïf' });
    expect(response.headers['content-type']).toBe('text/event-stream');
    expect(messagesIn(response.body)).toEqual([progress, result]);
    expect(reply.notify('notifications/progress', { progress: 2 })).toBe(false);
  });

  verifies('P6', 'sends an error with its HTTP status, and a null id for an unreadable request', () => {
    const { response, reply } = newReply(null);
    reply.error({ status: 400, code: -32700, message: 'No JSON.' });
    expect([response.status, JSON.parse(response.body)]).toEqual([
      400,
      { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'No JSON.' } },
    ]);
  });

  it('sends an internal error for a result that is no JSON', () => {
    const { response, reply } = newReply();
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    reply.result(loop as JsonObject);
    expect(JSON.parse(response.body)).toMatchObject({ id: 1, error: { code: -32603 } });
  });

  verifies('F6', 'aborts its signal when the client disconnects, not after a response', () => {
    const disconnected = newReply();
    disconnected.response.destroy();
    expect([disconnected.reply.signal.aborted, disconnected.reply.send(progress)]).toEqual([true, false]);
    const complete = newReply();
    complete.reply.result({});
    expect(complete.reply.signal.aborted).toBe(false);
  });

  verifies('P1', 'sends an empty response to a client that cancels', () => {
    const { response, reply } = newReply();
    reply.cancel();
    expect([response.status, response.body, reply.signal.aborted]).toEqual([200, '', true]);
  });

  verifies('P1', 'can be resumed on another response within 500 ms', () => {
    vi.useFakeTimers();
    const events = sessionEvents({ bytes: 0 });
    const { response, reply } = newReply();
    reply.makeResumable(events, true);
    reply.send(progress);
    expect(response.body).toMatch(/^id: 1-1\nretry: \d+\ndata:\n\nid: 1-2\ndata: /);
    response.destroy();
    vi.advanceTimersByTime(499);
    const next = new RecordingResponse();
    events.after('1-2')?.resume?.(next);
    vi.advanceTimersByTime(1000);
    expect(reply.signal.aborted).toBe(false);
    reply.result({ ok: 'naïf' });
    expect(messagesIn(next.body)).toEqual([result]);
  });

  verifies('F6', 'is cancelled 500 ms after a break without a resume', () => {
    vi.useFakeTimers();
    const { response, reply } = newReply();
    reply.makeResumable(sessionEvents({ bytes: 0 }), false);
    reply.send(progress);
    response.destroy();
    vi.advanceTimersByTime(499);
    expect(reply.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(reply.signal.aborted).toBe(true);
  });
});
