import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { RunInterrupted } from '../run/durable.ts';
import { Activity } from './activity.ts';

verifies('W5', 'an operation that waits does not end by an abort after its run was suspended', async () => {
  const activity = new Activity(
    () => {},
    () => {},
  );
  const event = Promise.withResolvers<void>();
  let isEnded = false;
  const operation = activity.operate(async () => {
    await activity.wait(event.promise, () => undefined);
    isEnded = true;
  });
  activity.interrupt();
  await expect(operation).rejects.toThrow(RunInterrupted);
  event.resolve();
  await new Promise(setImmediate);
  expect(isEnded).toBe(false);
});
