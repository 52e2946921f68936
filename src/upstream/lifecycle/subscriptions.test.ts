import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Era } from '../../wire/mcp.ts';
import type { Agreement } from '../connection.ts';
import { type SubscribableConnection, subscriptions } from './subscriptions.ts';

const anySignal = new AbortController().signal;
const agreementOf = (era: Era): Agreement => ({
  era,
  newest: era,
  protocolVersion: '',
  capabilities: {},
  serverInfo: {},
  instructions: undefined,
});

type Answer = (uri: string, signal: AbortSignal) => Promise<void>;

/** A connection that records its requests: `+` for subscribe, `-` for unsubscribe. */
function recordingConnection(answer: Answer = async () => {}, era: Era = 'legacy') {
  const requests: string[] = [];
  const connection: SubscribableConnection = {
    agreement: agreementOf(era),
    subscribe(uri, signal) {
      requests.push(`+${uri}`);
      return answer(uri, signal);
    },
    async unsubscribe(uri) {
      requests.push(`-${uri}`);
    },
  };
  return { connection, requests };
}

verifies('R6', 'subscribes for the first subscriber, and unsubscribes for the last', async () => {
  const { connection, requests } = recordingConnection();
  const book = subscriptions();
  await book.attach(connection);
  await Promise.all([book.add('a', anySignal), book.add('a', anySignal)]);
  await book.add('b', anySignal);
  await book.remove('a', anySignal);
  expect(requests).toEqual(['+a', '+b']);
  await book.remove('a', anySignal);
  expect(requests).toEqual(['+a', '+b', '-a']);
  await book.remove('a', anySignal);
  await book.remove('never added', anySignal);
  await book.add('a', anySignal);
  expect(requests).toEqual(['+a', '+b', '-a', '+a']);
});

verifies('R6', 'subscribes again on a new connection, and reports resources that may have changed', async () => {
  const missed: string[] = [];
  const book = subscriptions((uri) => missed.push(uri));
  await book.add('early', anySignal);
  const first = recordingConnection();
  await book.attach(first.connection);
  await book.add('a', anySignal);
  await book.add('gone', anySignal);
  expect(first.requests).toEqual(['+early', '+a', '+gone']);
  expect(missed).toEqual([]);
  book.detach();
  await book.remove('gone', anySignal);
  await book.add('late', anySignal);
  const second = recordingConnection();
  await book.attach(second.connection);
  expect(second.requests.sort()).toEqual(['+a', '+early', '+late']);
  expect(missed.sort()).toEqual(['a', 'early']);
  await book.remove('a', anySignal);
  expect(second.requests).toContain('-a');
  expect(first.requests).toEqual(['+early', '+a', '+gone']);
});

verifies('R6', 'returns subscriptions that fail on a new connection, and retries them on the next', async () => {
  const book = subscriptions();
  await book.add('good', anySignal);
  await book.add('bad', anySignal);
  const refusal = new UpstreamError('UPSTREAM_REFUSED', 'No such resource', { delivered: 'maybe' });
  const { connection, requests } = recordingConnection(async (uri) => {
    if (uri === 'bad') throw refusal;
  });
  await expect(book.attach(connection)).resolves.toEqual([{ uri: 'bad', error: refusal }]);
  expect(requests.sort()).toEqual(['+bad', '+good']);
  const next = recordingConnection();
  await expect(book.attach(next.connection)).resolves.toEqual([]);
  expect(next.requests.sort()).toEqual(['+bad', '+good']);
});

it('rejects the subscriber that the server refuses, and forgets the subscription', async () => {
  let refuses = true;
  const { connection, requests } = recordingConnection(async () => {
    if (refuses) throw new HeddleError('UPSTREAM_REFUSED', 'No such resource');
  });
  const book = subscriptions();
  await book.attach(connection);
  await expect(book.add('a', anySignal)).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
  await book.remove('a', anySignal);
  expect(requests).toEqual(['+a']);
  const next = recordingConnection();
  await book.attach(next.connection);
  expect(next.requests).toEqual([]);
  refuses = false;
  await book.attach(connection);
  await book.add('a', anySignal);
  expect(requests).toEqual(['+a', '+a']);
});

it('keeps a subscription when one of its subscribers aborts, and ends it with the last', async () => {
  const answers: PromiseWithResolvers<void>[] = [];
  const { connection, requests } = recordingConnection((_, signal) => {
    const answer = Promise.withResolvers<void>();
    answers.push(answer);
    signal.addEventListener('abort', () => answer.reject(new HeddleError('CALL_CANCELLED', 'cancelled')));
    return answer.promise;
  });
  const book = subscriptions();
  await book.attach(connection);
  const impatient = new AbortController();
  const first = book.add('a', impatient.signal);
  const second = book.add('a', anySignal);
  await Promise.resolve();
  impatient.abort();
  await expect(first).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  while (answers.length < 2) await Promise.resolve();
  answers[1]?.resolve();
  await second;
  expect(requests).toEqual(['+a', '-a', '+a']);
  await book.remove('a', anySignal);
  expect(requests).toEqual(['+a', '-a', '+a', '-a']);
});

it('subscribes to 1000 resources 16 at a time on a legacy server, and at once on a modern one', async () => {
  for (const [era, most] of [
    ['legacy', 16],
    ['modern', 1000],
  ] as const) {
    const book = subscriptions();
    for (let at = 0; at < 1000; at++) await book.add(String(at), anySignal);
    let open = 0;
    let highest = 0;
    const { connection, requests } = recordingConnection(async () => {
      highest = Math.max(highest, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open--;
    }, era);
    await book.attach(connection);
    expect(requests).toHaveLength(1000);
    expect(highest).toBe(most);
  }
});

it('does not wait for a lost connection', async () => {
  const book = subscriptions();
  await book.add('a', anySignal);
  const hanging = recordingConnection(
    (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('gone')))),
  );
  const attached = book.attach(hanging.connection);
  const next = recordingConnection();
  await expect(book.attach(next.connection)).resolves.toEqual([]);
  expect(next.requests).toEqual(['+a']);
  await expect(attached).resolves.toMatchObject([{ uri: 'a' }]);
});
