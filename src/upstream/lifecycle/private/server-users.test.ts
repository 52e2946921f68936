import { expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { UpstreamError } from '../../../core/errors.ts';
import { aStatus } from '../../../core/fixtures.ts';
import { callOf, withCapabilities } from '../fixtures.ts';
import { serverUsers } from './server-users.ts';

const needed = new UpstreamError('AUTH_NEEDED', 'demo requires a sign-in.', { delivered: 'no' });
const broken = new UpstreamError('UPSTREAM_UNREACHABLE', 'demo is down.', { delivered: 'no' });

function setting(max?: number) {
  const needing: string[] = [];
  const forgotten: string[] = [];
  const users = serverUsers({
    onSignInNeeded: ({ principal, capabilitySet }) => needing.push(`${principal} ${capabilitySet}`),
    onForgotten: ({ principal }) => forgotten.push(principal),
    ...(max !== undefined && { max }),
  });
  const stateOf = (id: string) =>
    users.statusFor(aStatus({ state: 'pending' }), callOf(id).caller, () => undefined).state;
  return { users, needing, forgotten, stateOf };
}

verifies('A6', 'requires the sign-in of all users of a principal, and of no other', () => {
  const { users, needing, stateOf } = setting();
  const capable = callOf('ada', withCapabilities('form'));
  for (const user of [callOf('ada'), capable, callOf('bob')]) {
    users.opened(user, 1);
    users.listed(user, 'tools', 2);
  }
  users.failed(callOf('ada'), needed);
  expect(needing).toEqual(['ada 1', 'ada 0']);
  expect([stateOf('ada'), stateOf('bob')]).toEqual(['needs-auth', 'pending']);
  expect([callOf('ada'), capable, callOf('bob')].map(users.isListed)).toEqual([false, false, true]);
  expect(users.waiting('ada')).toHaveLength(2);
  users.opened(callOf('ada'), 1);
  expect(users.waiting('ada')).toEqual([capable]);
});

verifies('A6', 'keeps the lists of a user whose server is down', () => {
  const { users, needing, stateOf } = setting();
  users.opened(callOf('ada'), 1);
  users.listed(callOf('ada'), 'tools', 2);
  users.failed(callOf('ada'), broken);
  expect([users.isListed(callOf('ada')), stateOf('ada'), stateOf('bob')]).toEqual([true, 'failed', 'pending']);
  expect(needing).toEqual([]);
});

verifies('A6', 'forgets the user that was used longest ago when there are too many', () => {
  const { users, forgotten } = setting(2);
  for (const id of ['a', 'b', 'a', 'c']) users.opened(callOf(id), 1);
  expect(forgotten).toEqual(['b']);
});
