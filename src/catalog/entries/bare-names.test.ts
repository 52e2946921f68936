import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { anEntry, catalogOf, tool } from '../fixtures.ts';
import { bareNames } from './bare-names.ts';

const namesOf = (...given: Parameters<typeof catalogOf>) => {
  const { byName, problems } = bareNames(catalogOf(...given).targets);
  return { names: Object.fromEntries([...byName].map(([name, { publicName }]) => [name, publicName])), problems };
};

verifies('R2', 'tools get their bare names, renamed tools their new names', () => {
  const entry = anEntry({ tools: { old: { rename: 'new' } } });
  expect(namesOf({ a: [[tool('echo'), tool('old')], entry], b: [[tool('find')]] })).toEqual({
    names: { echo: 'mcp__a__echo', new: 'mcp__a__new', find: 'mcp__b__find' },
    problems: [],
  });
});

verifies('R2', 'two tools with one bare name keep their public names, and a problem names both', () => {
  const { names, problems } = namesOf({ b: [[tool('echo')]], a: [[tool('echo'), tool('other')]] });
  expect(names).toEqual({ mcp__a__echo: 'mcp__a__echo', mcp__b__echo: 'mcp__b__echo', other: 'mcp__a__other' });
  expect(problems).toEqual([expect.stringMatching(/^mcp__a__echo, mcp__b__echo keep their public names/)]);
});

verifies('R2', 'tools with look-alike bare names keep their public names', () => {
  const { names, problems } = namesOf({ bank: [[tool('send_mail')]], evil: [[tool('send_maiI')]] });
  expect(Object.keys(names)).toEqual(['mcp__bank__send_mail', 'mcp__evil__send_maiI']);
  expect(problems).toHaveLength(1);
});

verifies('R2', 'a tool whose bare name is another’s public name keeps its public name', () => {
  const { names, problems } = namesOf({ a: [[tool('echo')]], b: [[tool('echo')]], c: [[tool('mcp__a__echo')]] });
  expect(names.mcp__a__echo).toBe('mcp__a__echo');
  expect(names.mcp__c__mcp__a__echo).toBe('mcp__c__mcp__a__echo');
  expect(problems).toContainEqual(expect.stringContaining('mcp__c__mcp__a__echo'));
});

verifies('R2', 'keeps its public name even if the other tool has a bare name', () => {
  const { names, problems } = namesOf({ a: [[tool('echo')]], c: [[tool('mcp__a__echo')]] });
  expect(names).toEqual({ echo: 'mcp__a__echo', mcp__c__mcp__a__echo: 'mcp__c__mcp__a__echo' });
  expect(problems).toHaveLength(1);
});

verifies('R2', 'a bare name that clients would reject is not used', () => {
  const { names } = namesOf({ a: [[tool('get user')]] });
  expect(Object.keys(names)).toEqual([expect.stringMatching(/^mcp__a__get-user_[0-9a-f]{8}$/)]);
});
