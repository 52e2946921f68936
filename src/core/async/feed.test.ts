import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { feed } from './feed.ts';

const never = () => new AbortController().signal;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const item of items) seen.push(item);
  return seen;
}

it('returns every item published after `read`, also before the first `next`', async () => {
  const numbers = feed<number>();
  numbers.publish(0);
  const items = numbers.read(never());
  numbers.publish(1);
  const seen = all(items);
  numbers.publish(2);
  await new Promise(setImmediate);
  numbers.publish(3);
  numbers.publish(4);
  numbers.close();
  await expect(seen).resolves.toEqual([1, 2, 3, 4]);
});

it('gives every item to every reader at its own pace', async () => {
  const numbers = feed<number>();
  const [fast, slow] = [all(numbers.read(never())), numbers.read(never())];
  for (let number = 1; number <= 5; number++) {
    numbers.publish(number);
    await new Promise(setImmediate);
  }
  numbers.close();
  await expect(fast).resolves.toEqual([1, 2, 3, 4, 5]);
  await expect(all(slow)).resolves.toEqual([1, 2, 3, 4, 5]);
});

it('keeps the newest 1000 items for a reader that does not read', async () => {
  const numbers = feed<number>();
  const items = numbers.read(never());
  for (let number = 1; number <= 5000; number++) numbers.publish(number);
  numbers.close();
  const seen = await all(items);
  expect([seen.length, seen[0], seen.at(-1)]).toEqual([1000, 4001, 5000]);
});

it('ends when the signal aborts, and leaves no listener on it', async () => {
  const numbers = feed<number>();
  const abort = new AbortController();
  const seen = all(numbers.read(abort.signal));
  numbers.publish(1);
  abort.abort();
  numbers.publish(2);
  await expect(seen).resolves.toEqual([1]);
  await expect(all(numbers.read(abort.signal))).resolves.toEqual([]);
  expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
});

it('releases a reader that leaves its loop or whose feed closes', async () => {
  const numbers = feed<number>();
  const { signal } = new AbortController();
  const [one, other] = [numbers.read(signal), all(numbers.read(signal))];
  numbers.publish(1);
  for await (const item of one) {
    expect(item).toBe(1);
    break;
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  numbers.close();
  await expect(other).resolves.toEqual([1]);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

it('lets a reader leave while it waits', async () => {
  const iterator = feed<number>().read(never())[Symbol.asyncIterator]();
  const waiting = iterator.next();
  await iterator.return?.();
  await expect(waiting).resolves.toMatchObject({ done: true });
});

it('drops expendable items first', async () => {
  const numbers = feed<number>((number) => number % 2 === 0);
  const items = numbers.read(never());
  for (let number = 1; number <= 1500; number++) numbers.publish(number);
  numbers.close();
  const seen = await all(items);
  expect([seen.length, seen.filter((number) => number % 2 === 1).length]).toEqual([1000, 750]);
});
