import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { isUnprintable, skeleton } from './confusable.ts';

const ALIKE: readonly (readonly string[])[] = [
  ['github', 'gіthub', 'GitHub', 'gıthub', 'ｇｉｔｈｕｂ', 'git\u200bhub', 'g\u00adithub', 'gïthub', '𝗀𝗂𝗍𝗁𝗎𝖻'],
  ['paypal', 'раураl', 'PAYPAL', 'paypaI', 'paypa1'],
  ['o0O', 'ооо', 'ΟοО', '000'],
  ['modern', 'modem'],
  ['get_user', 'get-user', 'get.user', 'get user', 'get__user', 'get–user'],
];

for (const alike of ALIKE) {
  verifies('R2', `${alike[0]} and its look-alikes have one skeleton`, () => {
    expect(new Set(alike.map(skeleton)).size).toBe(1);
  });
}

verifies('R2', 'clearly different names have different skeletons', () => {
  const names = ['create_issue', 'create_issues', 'delete_issue', 'getUser', 'get_user', '日本', '日本語'];
  expect(new Set(names.map(skeleton)).size).toBe(names.length);
});

verifies('R2', 'every name has a skeleton, and the skeleton of a skeleton is itself', () => {
  const anything = fc.string({ unit: fc.oneof(fc.string({ unit: 'binary', maxLength: 1 }), fc.constant('\ud800')) });
  fc.assert(
    fc.property(anything, (name) => skeleton(skeleton(name)) === skeleton(name)),
    { numRuns: 500 },
  );
  expect(skeleton('x'.repeat(1_000_000)).length).toBeLessThan(1000);
});

verifies('R2', 'recognises a name with invisible characters as unprintable', () => {
  expect(['a\u0000', 'a\u001b[2J', 'a\u202eb', 'a\u200bb', '\ud800'].map(isUnprintable)).not.toContain(false);
  expect(['plain', 'größe', '日本', '👍'].map(isUnprintable)).not.toContain(true);
});
