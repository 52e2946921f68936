import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { counted, isOrAre } from './counted.ts';

verifies('L5', 'a noun and its verb agree with the count', () => {
  const line = (count: number) => `${counted(count, 'line')} ${isOrAre(count)} left`;
  expect([line(0), line(1), line(2)]).toEqual(['0 lines are left', '1 line is left', '2 lines are left']);
});
