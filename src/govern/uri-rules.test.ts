import { expect, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { ada, aTarget } from '../core/fixtures.ts';
import { decides } from './fixtures.ts';

verifies('G2', 'folds every rule and every resource once, however many of the other there are', () => {
  const patterns = (scheme: string) => Array.from({ length: 40 }, (_, index) => `${scheme}:///secret/${index}/*`);
  const targets = Array.from({ length: 40 }, (_, index) =>
    aTarget({ kind: 'resource', servers: ['s'], publicName: `file:///a/${index}`, name: `file:///a/${index}` }),
  );
  const normalize = vi.spyOn(String.prototype, 'normalize');
  try {
    const decide = decides({
      mode: 'open',
      permissions: { deny: patterns('file') },
      profiles: new Map([
        [
          'p',
          {
            naming: 'full',
            exposure: 'direct',
            exclude: patterns('note'),
            permissions: { allow: [], ask: [], deny: [] },
          },
        ],
      ]),
    });
    for (const target of targets) expect(decide({ ...ada, profile: 'p' }, target).effect).toBe('allow');
    // At most ten forms per resource, one per rule.
    expect(normalize.mock.calls.length).toBeLessThan(80 + 40 * 10);
  } finally {
    normalize.mockRestore();
  }
});
