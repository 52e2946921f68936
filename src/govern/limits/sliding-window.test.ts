import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { countCall, emptyWindow, uncountCall } from './sliding-window.ts';

verifies('G5', 'keeps nothing of a call whose count was taken back', () => {
  const window = emptyWindow();
  for (let now = 0; now < 1000; now++) uncountCall(window, countCall(window, { maxCalls: 1, windowMs: 1000 }, now));
  expect(window).toEqual(emptyWindow());
});
