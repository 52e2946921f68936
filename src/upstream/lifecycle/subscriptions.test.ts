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

/** A line that writes down what is asked on it, with `+` for subscribe and `-` for unsubscribe. */
function recordingLine(answer: Answer = async () => {}, era: Era = 'legacy') {
  const asked: string[] = [];
  const line: SubscribableConnection = {
    agreement: agreementOf(era),
    subscribe(uri, signal) {
      asked.push(`+${uri}`);
      return answer(uri, signal);
    },
    async unsubscribe(uri) {
      asked.push(`-${uri}`);
    },
  };
  return { line, asked };
}

verifies('R6', 'the first who wants a resource subscribes to it, and the last who leaves unsubscribes', async () => {
  const { line, asked } = recordingLine();
  const book = subscriptions();
  await book.attach(line);
  await Promise.all([book.add('a', anySignal), book.add('a', anySignal)]);
  await book.add('b', anySignal);
  await book.remove('a', anySignal);
  expect(asked).toEqual(['+a', '+b']);
  await book.remove('a', anySignal);
  expect(asked).toEqual(['+a', '+b', '-a']);
  await book.remove('a', anySignal);
  await book.remove('never added', anySignal);
  await book.add('a', anySignal);
  expect(asked).toEqual(['+a', '+b', '-a', '+a']);
});

verifies('R6', 'a new line is subscribed to all that is still wanted, and what may have changed is told', async () => {
  const missed: string[] = [];
  const book = subscriptions((uri) => missed.push(uri));
  await book.add('early', anySignal);
  const first = recordingLine();
  await book.attach(first.line);
  await book.add('a', anySignal);
  await book.add('gone', anySignal);
  expect(first.asked).toEqual(['+early', '+a', '+gone']);
  expect(missed).toEqual([]);
  book.detach();
  await book.remove('gone', anySignal);
  await book.add('late', anySignal);
  const second = recordingLine();
  await book.attach(second.line);
  expect(second.asked.sort()).toEqual(['+a', '+early', '+late']);
  expect(missed.sort()).toEqual(['a', 'early']);
  await book.remove('a', anySignal);
  expect(second.asked).toContain('-a');
  expect(first.asked).toEqual(['+early', '+a', '+gone']);
});

verifies('R6', 'what a new line does not take is reported, disturbs nothing, and is tried on the next', async () => {
  const book = subscriptions();
  await book.add('good', anySignal);
  await book.add('bad', anySignal);
  const refusal = new UpstreamError('UPSTREAM_REFUSED', 'No such resource', { delivered: 'maybe' });
  const { line, asked } = recordingLine(async (uri) => {
    if (uri === 'bad') throw refusal;
  });
  await expect(book.attach(line)).resolves.toEqual([{ uri: 'bad', error: refusal }]);
  expect(asked.sort()).toEqual(['+bad', '+good']);
  const next = recordingLine();
  await expect(book.attach(next.line)).resolves.toEqual([]);
  expect(next.asked.sort()).toEqual(['+bad', '+good']);
});

it('tells a refusal to whoever asked, and forgets the wish', async () => {
  let refuses = true;
  const { line, asked } = recordingLine(async () => {
    if (refuses) throw new HeddleError('UPSTREAM_REFUSED', 'No such resource');
  });
  const book = subscriptions();
  await book.attach(line);
  await expect(book.add('a', anySignal)).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
  await book.remove('a', anySignal);
  expect(asked).toEqual(['+a']);
  const next = recordingLine();
  await book.attach(next.line);
  expect(next.asked).toEqual([]);
  refuses = false;
  await book.attach(line);
  await book.add('a', anySignal);
  expect(asked).toEqual(['+a', '+a']);
});

it('one who gives up does not take it from the others, and leaves nothing subscribed', async () => {
  const answers: PromiseWithResolvers<void>[] = [];
  const { line, asked } = recordingLine((_, signal) => {
    const answer = Promise.withResolvers<void>();
    answers.push(answer);
    signal.addEventListener('abort', () => answer.reject(new HeddleError('CALL_CANCELLED', 'cancelled')));
    return answer.promise;
  });
  const book = subscriptions();
  await book.attach(line);
  const impatient = new AbortController();
  const first = book.add('a', impatient.signal);
  const second = book.add('a', anySignal);
  await Promise.resolve();
  impatient.abort();
  await expect(first).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  while (answers.length < 2) await Promise.resolve();
  answers[1]?.resolve();
  await second;
  expect(asked).toEqual(['+a', '-a', '+a']);
  await book.remove('a', anySignal);
  expect(asked).toEqual(['+a', '-a', '+a', '-a']);
});

it('asks a legacy server for a thousand resources a few at a time, and a modern one at once', async () => {
  for (const [era, most] of [
    ['legacy', 16],
    ['modern', 1000],
  ] as const) {
    const book = subscriptions();
    for (let at = 0; at < 1000; at++) await book.add(String(at), anySignal);
    let open = 0;
    let highest = 0;
    const { line, asked } = recordingLine(async () => {
      highest = Math.max(highest, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open--;
    }, era);
    await book.attach(line);
    expect(asked).toHaveLength(1000);
    expect(highest).toBe(most);
  }
});

it('does not wait for a line that is gone', async () => {
  const book = subscriptions();
  await book.add('a', anySignal);
  const hanging = recordingLine(
    (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('gone')))),
  );
  const attached = book.attach(hanging.line);
  const next = recordingLine();
  await expect(book.attach(next.line)).resolves.toEqual([]);
  expect(next.asked).toEqual(['+a']);
  await expect(attached).resolves.toMatchObject([{ uri: 'a' }]);
});
