import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject, Target } from '../../core/call.ts';
import type { Resources } from '../catalog.ts';
import { buildResources } from './resources.ts';
import { serverResourcesOf } from './server-resources.ts';

const NO_ENTRY = { entry: undefined, builtin: false };
const at = (uri: string, more: JsonObject = {}): JsonObject => ({ uri, name: uri, ...more });
const by = (uriTemplate: string): JsonObject => ({ uriTemplate, name: uriTemplate });

type Has = readonly [readonly JsonObject[], (readonly JsonObject[])?];

function resourcesOf(servers: Readonly<Record<string, Has>>): Resources {
  const lists = Object.entries(servers).flatMap(([server, [resources, templates = []]]) => [
    serverResourcesOf({ kind: 'resource', server, definitions: resources }, NO_ENTRY),
    serverResourcesOf({ kind: 'template', server, definitions: templates }, NO_ENTRY),
  ]);
  return buildResources(lists);
}

const names = (targets: readonly Target[]) => targets.map(({ publicName }) => publicName);
const owners = (targets: readonly Target[]) => targets.map(({ servers, name }) => `${servers[0]} ${name}`);
const meant = (resources: Resources, uri: string) =>
  [...resources.meanings(uri)].map(owners).filter(({ length }) => length > 0);

describe('URIs', () => {
  verifies('R6', 'a URI of one server keeps its name', () => {
    const resources = resourcesOf({ a: [[at('file:///x')]], b: [[at('file:///y')]] });
    expect(names(resources.targets)).toEqual(['file:///x', 'file:///y']);
    expect(meant(resources, 'file:///x')).toEqual([['a file:///x']]);
  });

  verifies('R6', 'a URI above the length limit has no meaning, even with its server named', () => {
    const resources = resourcesOf({ a: [[at('file:///x')], [by('{+any}')]] });
    expect(meant(resources, `heddle://a/${'x'.repeat(8192)}`)).toHaveLength(1);
    expect(meant(resources, `heddle://a/${'x'.repeat(8193)}`)).toEqual([]);
  });

  verifies('R6', 'a URI of several servers is named with each server', () => {
    const resources = resourcesOf({ a: [[at('file:///x?q#f')]], b: [[at('file:///x?q#f')]] });
    expect(names(resources.targets)).toEqual(['heddle://a/file:///x?q#f', 'heddle://b/file:///x?q#f']);
    for (const { publicName, name } of resources.targets) {
      expect(new URL(publicName).href).toBe(publicName);
      expect(name).toBe('file:///x?q#f');
    }
    expect(meant(resources, 'heddle://b/file:///x?q#f')[0]).toEqual(['b file:///x?q#f']);
    expect(meant(resources, 'file:///x?q#f')).toEqual([['a file:///x?q#f', 'b file:///x?q#f']]);
  });

  verifies('R6', 'a server cannot take over a heddle:// URI of another by listing it', () => {
    const resources = resourcesOf({ a: [[at('note:1')]], evil: [[at('heddle://a/note:1'), at('heddle://a/note:2')]] });
    expect(names(resources.targets)).toEqual([
      'heddle://evil/heddle://a/note:1',
      'heddle://evil/heddle://a/note:2',
      'note:1',
    ]);
    expect(meant(resources, 'heddle://a/note:1')[0]).toEqual(['a note:1']);
    expect(meant(resources, 'heddle://a/note:2')).toEqual([['a note:2']]);
    expect(meant(resources, 'heddle://evil/heddle://a/note:1')[0]).toEqual(['evil heddle://a/note:1']);
  });

  verifies('R6', 'URI names are unique and independent of the order of servers', () => {
    const uri = fc.oneof(fc.constantFrom('u:1', 'u:2', 'heddle://a/u:1', 'heddle://a/heddle://b/u:1'), fc.webUrl());
    const lists = fc.record({ a: fc.array(uri), b: fc.array(uri), c: fc.array(uri) });
    fc.assert(
      fc.property(lists, (has) => {
        const build = (servers: readonly ('a' | 'b' | 'c')[]) =>
          resourcesOf(Object.fromEntries(servers.map((one) => [one, [has[one].map((each) => at(each))]])));
        const resources = build(['a', 'b', 'c']);
        expect(names(build(['c', 'b', 'a']).targets)).toEqual(names(resources.targets));
        expect(new Set(names(resources.targets)).size).toBe(resources.targets.length);
        for (const target of resources.targets) {
          expect(meant(resources, target.publicName)[0]).toEqual(owners([target]));
        }
      }),
    );
  });

  verifies('R6', 'an unlisted URI is read at a server only if the URI names it', () => {
    const resources = resourcesOf({ a: [[at('u:1')]], empty: [[]] });
    expect(meant(resources, 'u:2')).toEqual([]);
    expect(meant(resources, 'heddle://a/u:2')).toEqual([['a u:2']]);
    expect(meant(resources, 'heddle://empty/u:2')).toEqual([]);
    expect(meant(resources, 'heddle://missing/u:2')).toEqual([]);
  });
});

describe('templates', () => {
  verifies('R6', 'are tried for an unlisted URI, the most specific first', () => {
    const resources = resourcesOf({
      a: [[at('db://users/7')], [by('db://{+rest}')]],
      b: [[], [by('db://users/{id}'), by('db://{table}/{id}')]],
    });
    expect(meant(resources, 'db://users/7')[0]).toEqual(['a db://users/7']);
    expect(meant(resources, 'db://users/8')).toEqual([['b db://users/8'], ['b db://users/8'], ['a db://users/8']]);
    expect(meant(resources, 'db://users/8/x')).toEqual([['a db://users/8/x']]);
    const [[found]] = [...resources.meanings('db://users/8')].filter(({ length }) => length > 0) as [[Target]];
    expect(found).toMatchObject({ kind: 'resource', publicName: 'db://users/8', definition: by('db://users/{id}') });
    expect(found.digest).toBe(resources.templates.find(({ name }) => name === 'db://users/{id}')?.digest);
  });

  verifies('R6', 'of several servers are named with the server and match their expansions', () => {
    const resources = resourcesOf({ a: [[], [by('db://{id}')]], b: [[], [by('db://{id}')]] });
    expect(names(resources.templates)).toEqual(['heddle://a/db://{id}', 'heddle://b/db://{id}']);
    expect(meant(resources, 'heddle://b/db://a%2Fb')[0]).toEqual(['b db://a%2Fb']);
    expect(meant(resources, 'db://1')).toEqual([['a db://1', 'b db://1']]);
    expect(owners(resources.named('heddle://b/db://{id}'))).toEqual(['b db://{id}']);
    expect(owners(resources.named('db://{id}'))).toEqual(['a db://{id}', 'b db://{id}']);
  });

  verifies('R1', 'an invalid template is listed to users and never matched', () => {
    const resources = resourcesOf({ a: [[at('')], [by('db://{'), by('db://{id}')]] });
    expect(resources.templates.map(({ name, invalid }) => [name, invalid])).toEqual([
      ['db://{', 'its template cannot be read'],
      ['db://{id}', undefined],
    ]);
    expect(resources.targets[0]?.invalid).toBe('it has no URI');
    expect(meant(resources, 'db://{')).toEqual([['a db://{']]);
  });

  verifies('R1', 'are limited by their total number of variables', () => {
    const ten = '{+a}{+b}{+c}{+d}{+e}{+f}{+g}{+h}{+i}{+j}';
    const many = Array.from({ length: 500 }, (_, n) => by(`${ten}${String(n).padStart(3, '0')}`));
    const resources = resourcesOf({ a: [[], [...many].reverse()], b: [[], [by('u:{id}')]] });
    expect(names(resources.templates)).toEqual(
      names(resourcesOf({ a: [[], many.slice(0, 50)], b: [[], [by('u:{id}')]] }).templates),
    );
    expect(resources.problems).toEqual(['a lists templates with more than 500 variables; the last 450 are not used.']);
  });

  verifies('R1', 'above the limit are cut in sorted order, with a problem', () => {
    const many = Array.from({ length: 600 }, (_, n) => by(`t${String(n).padStart(3, '0')}://{id}`));
    const build = (list: readonly JsonObject[]) => resourcesOf({ a: [[], list] });
    const resources = build(many);
    expect(resources.problems).toEqual([expect.stringMatching(/^a lists 600 templates; the first 500 by name/)]);
    expect(names(build([...many].reverse()).templates)).toEqual(names(resources.templates));
  });
});

verifies('R1', 'a URI listed twice by a server is one resource, independent of order', () => {
  const [one, other] = [at('u:1', { title: 'one' }), at('u:1', { title: 'other' })];
  const build = (list: readonly JsonObject[]) => resourcesOf({ a: [list] }).targets;
  expect(build([one, other])).toHaveLength(1);
  expect(build([one, other])[0]?.definition).toEqual(build([other, one])[0]?.definition);
});

verifies('R1', 'a change of one server keeps the target objects of the others', () => {
  const stays = serverResourcesOf({ kind: 'resource', server: 'a', definitions: [at('u:1')] }, NO_ENTRY);
  const comes = serverResourcesOf({ kind: 'resource', server: 'b', definitions: [at('u:2')] }, NO_ENTRY);
  const [before] = buildResources([stays]).targets;
  expect(buildResources([comes, stays]).targets[0]).toBe(before);
});
