import { expect, it } from 'vitest';
import { aCall } from '../core/fixtures.ts';
import { anEntry, catalogOf, tool } from './fixtures.ts';
import { subjectOf } from './subject.ts';

const pool = anEntry({ pool: 'both' });
const catalog = catalogOf({ a: [[tool('one'), tool('same')], pool], b: [[tool('same')], pool] });
const subject = (name: string) => subjectOf(catalog, aCall({ name }));

it('a call is counted under the public name for any spelling', () => {
  for (const name of ['mcp__a__one', 'a.one', 'one'])
    expect(subject(name)).toEqual({ name: 'mcp__a__one', server: 'a' });
});

it('names no server for a pool, and returns undefined for an unknown name', () => {
  expect(subject('both.same')).toEqual({ name: 'mcp__both__same' });
  for (const name of ['same', 'nothing', '']) expect(subject(name)).toBeUndefined();
});
