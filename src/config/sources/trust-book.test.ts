import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { remoteEntry, sdkEntry, stdioEntry } from '../schema/server-schema.ts';
import { trustHash } from './trust-book.ts';

// These fields change neither the program nor the treatment of its calls.
const IGNORED = ['description', 'enabled'];
const KEYS = [...new Set([stdioEntry, remoteEntry, sdkEntry].flatMap(({ shape }) => Object.keys(shape)))];

for (const key of KEYS.filter((name) => !IGNORED.includes(name))) {
  verifies('C11', `trust does not cover a changed \`${key}\``, () => {
    const entry = { command: 'x' };
    expect(trustHash({ ...entry, [key]: 1 })).not.toBe(trustHash(entry));
    expect(trustHash({ ...entry, [key]: 1 })).not.toBe(trustHash({ ...entry, [key]: 2 }));
  });
}

it.each(IGNORED)('trust covers a changed `%s`', (key) => {
  expect(trustHash({ command: 'x', [key]: 1 })).toBe(trustHash({ command: 'x' }));
});
