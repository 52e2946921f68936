import { parse } from 'jsonc-parser';
import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { withoutRule, withRule, writtenRules } from './edit-rules.ts';

const COMMENTED = `// Ours.
{
  "permissions": {
    "ask": [
      "mcp__mail", // sends
      // reads
      "mcp__files"
    ],
    "allow": ["mcp__time"]
  },
  "mode": "guarded"
}
`;

verifies('G2', 'adds a rule to a list and keeps comments, order and layout', () => {
  expect(withRule(COMMENTED, 'ask', 'mcp__web')).toBe(
    COMMENTED.replace('"mcp__files"\n', '"mcp__files",\n      "mcp__web"\n'),
  );
  expect(withRule(COMMENTED, 'allow', 'mcp__web')).toBe(COMMENTED.replace('"mcp__time"', '"mcp__time", "mcp__web"'));
});

it('moves a rule from its list to another, with its comment removed', () => {
  const moved = withRule(COMMENTED, 'allow', 'mcp__mail');
  expect(writtenRules(moved)).toEqual({ deny: [], ask: ['mcp__files'], allow: ['mcp__time', 'mcp__mail'] });
  expect(moved).toContain('    "ask": [\n      // reads\n      "mcp__files"\n    ],');
});

it('does not change a text that has the rule to add, or lacks the rule to remove', () => {
  expect(withRule(COMMENTED, 'allow', 'mcp__time')).toBe(COMMENTED);
  expect(withoutRule(COMMENTED, 'mcp__web')).toBe(COMMENTED);
  expect(withoutRule('', 'mcp__web')).toBe('');
});

it.each([
  ['an empty file', ''],
  ['one line', '{"mcpServers":{}}'],
  ['an empty list', '{\n  "permissions": { "allow": [] }\n}\n'],
  ['a list with a comment only', '{\n  "permissions": {\n    "allow": [\n      // none\n    ]\n  }\n}\n'],
  ['a trailing comma', '{\n  "permissions": {\n    "allow": [\n      "mcp__b",\n    ],\n  },\n}\n'],
  ['a byte-order mark', '\uFEFF{\n}\n'],
])('adds and removes a rule in %s', (_, before) => {
  const added = withRule(before, 'allow', 'mcp__a');
  expect(parse(added.replace(/^\uFEFF/, '')).permissions.allow).toContain('mcp__a');
  const removed = withoutRule(added, 'mcp__a');
  expect(writtenRules(removed).allow).toEqual(writtenRules(before).allow);
});

it.each(['[]', '{ "permissions": [] }', '{ "permissions": { "allow": "mcp__a" } }'])('refuses to edit %s', (text) => {
  expect(() => withRule(text, 'allow', 'mcp__b')).toThrow(/is not a JSON (object|array)/);
});
