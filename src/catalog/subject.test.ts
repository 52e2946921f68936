import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { aCall } from '../core/fixtures.ts';
import type { Catalog } from './catalog.ts';
import { anEntry, catalogOf, tool } from './fixtures.ts';
import { liveCatalog } from './live-catalog.ts';
import { subjectOf } from './subject.ts';

const pool = anEntry({ pool: 'both' });
const catalog = catalogOf({ a: [[tool('one'), tool('same')], pool], b: [[tool('same')], pool] });
const subject = (name: string) => subjectOf(catalog, aCall({ name }), () => true);

it('a call is counted under the public name for any spelling', () => {
  for (const name of ['mcp__a__one', 'a.one', 'one'])
    expect(subject(name)).toEqual({ name: 'mcp__a__one', server: 'a' });
});

it('names no server for a pool, and returns undefined for an unknown name', () => {
  expect(subject('both.same')).toEqual({ name: 'mcp__both__same' });
  for (const name of ['same', 'nothing', '']) expect(subject(name)).toBeUndefined();
});

verifies('R2', 'a call by bare name is counted for the tool that the caller sees', () => {
  const ranked = catalogOf({ a: [[tool('same')], anEntry({ priority: 1 })], b: [[tool('same')], anEntry()] });
  const call = aCall({ name: 'same' });
  expect(subjectOf(ranked, call, () => true)?.server).toBe('a');
  expect(subjectOf(ranked, call, ({ servers: [server] }) => server === 'b')?.server).toBe('b');
  expect(subjectOf(ranked, call, () => false)?.server).toBe('a');
});

verifies('R6', 'an unknown URI is tried once with each template, also if the caller sees none', () => {
  const owners = new Map([['docs', { entry: undefined, builtin: false }]]);
  const remembered = [{ server: 'docs', tools: [], templates: [{ uriTemplate: 'doc://{name}/end', name: 'docs' }] }];
  const { resources, ...rest } = liveCatalog({ owners, remembered, onChange: () => {} }).current();
  const tried: string[] = [];
  const counting: Catalog = {
    ...rest,
    resources: {
      ...resources,
      meanings(uri) {
        tried.push('as it is');
        return resources.meanings(uri);
      },
      meaningsWithSlashes(uri) {
        tried.push('with slashes');
        return resources.meaningsWithSlashes(uri);
      },
    },
  };
  const call = aCall({ kind: 'resource', name: 'doc://a/b' });
  for (const visible of [() => true, () => false]) {
    expect(subjectOf(counting, call, visible)).toBeUndefined();
    expect(tried.splice(0)).toEqual(['as it is', 'with slashes']);
  }
});
