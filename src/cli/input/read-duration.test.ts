import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { readDuration } from './read-duration.ts';

verifies('L3', 'every unit of a duration is read', () => {
  const units = {
    '300ms': 300,
    '90s': 90_000,
    '30m': 1_800_000,
    '24h': 86_400_000,
    '7d': 604_800_000,
    '2w': 1_209_600_000,
  };
  for (const [text, ms] of Object.entries(units)) expect([text, readDuration('since', text)]).toEqual([text, ms]);
});

verifies('L5', 'a text that is no duration is refused with an example', () => {
  for (const text of ['', '5', 'soon', '1.5h', '-1s', '5 m', '5mins', '99999999s']) {
    expect(() => readDuration('since', text)).toThrow(`--since has to be a duration, not ${text}.`);
  }
});
