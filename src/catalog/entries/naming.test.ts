import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { distinctName, nameAll, publicName } from './naming.ts';

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;
const anyText = fc.string({ unit: 'binary', maxLength: 100 });

verifies('R2', 'a plain name is mcp__server__tool', () => {
  expect(publicName('github', 'create_issue')).toBe('mcp__github__create_issue');
});

verifies('R2', 'a name of exactly 64 characters stays, and one of 65 ends in a suffix', () => {
  const fits = 'x'.repeat(64 - 'mcp__a__'.length);
  expect(publicName('a', fits)).toBe(`mcp__a__${fits}`);
  expect(publicName('a', `${fits}x`)).toMatch(/^mcp__a__x+_[0-9a-f]{8}$/);
});

verifies('R2', 'replaces an illegal character by a dash and adds a suffix', () => {
  expect(publicName('a', 'get.user')).toMatch(/^mcp__a__get-user_[0-9a-f]{8}$/);
  expect(publicName('a', 'größe👍')).toMatch(/^mcp__a__gr--e-_[0-9a-f]{8}$/);
});

verifies('R2', 'the public name is legal for any server and tool name', () => {
  fc.assert(
    fc.property(anyText, anyText, (server, tool) => {
      expect(publicName(server, tool)).toMatch(LEGAL);
      expect(distinctName(server, tool)).toMatch(LEGAL);
    }),
    { numRuns: 500 },
  );
});

verifies('R2', 'the suffix distinguishes names that become the same', () => {
  const alike = ['a.b', 'a b', 'a/b', 'aéb', 'a\ud800b', 'a\ud801b', 'a\0b'];
  expect(new Set(alike.map((tool) => publicName('s', tool))).size).toBe(alike.length);
  expect(distinctName('a\0', 'b')).not.toBe(distinctName('a', '\0b'));
});

verifies('R2', 'an item at a lower level yields its name to one at a higher level', () => {
  const wishes = { far: ['x', 'y', 'n'], near: ['x', 'y', 'z'], first: ['n', 'other'] };
  const items = Object.values(wishes);
  const named = nameAll(items, (wish, level) => wish[level] ?? `${wish[0]}${level}`);
  expect(Object.fromEntries(named)).toEqual({ n: wishes.far, z: wishes.near, other: wishes.first });
});
