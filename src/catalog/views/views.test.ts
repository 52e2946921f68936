import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject, Target } from '../../core/call.ts';
import { aCall, ada } from '../../core/fixtures.ts';
import { decides } from '../../govern/fixtures.ts';
import { findIn, withLinked } from '../find.ts';
import { tool } from '../fixtures.ts';
import { type ChangedList, liveCatalog } from '../live-catalog.ts';

const showing = (name: string, resourceUri: string, visibility?: string[]): JsonObject =>
  tool(name, { _meta: { ui: { resourceUri, ...(visibility && { visibility }) } } });

function catalogWith(servers: readonly string[]) {
  const changed: ChangedList[] = [];
  const owners = new Map(servers.map((name) => [name, { entry: undefined, builtin: false }]));
  const catalog = liveCatalog({ owners, remembered: [], onChange: (list) => changed.push(list) });
  const find = (name: string, deny: readonly string[] = [], caller = ada): Target | undefined => {
    const decide = decides({ mode: 'open', permissions: { allow: [], ask: [], deny: [...deny] } });
    const wanted = withLinked(catalog, { kind: 'resource' as const, name, caller });
    return findIn(catalog.current(), wanted, (target) => decide(caller, target).effect !== 'deny');
  };
  return { catalog, changed, find };
}

const place = (target: Target | undefined) => target && [target.servers[0], target.name];
const APPS = { 'io.modelcontextprotocol/ui': {} };
const NO_INPUT = { form: false, url: false, sampling: false, samplingTools: false, roots: false };

verifies('R6', 'reads a view that a tool names only for callers who see the tool', () => {
  const { catalog, find } = catalogWith(['a', 'b']);
  catalog.update('a', [showing('show', 'ui://app/view')]);
  expect(place(find('ui://app/view'))).toEqual(['a', 'ui://app/view']);
  for (const uri of ['ui://app/view', 'ui://a/app/view', 'heddle://a/ui://app/view']) {
    expect(find(uri, ['mcp__a__show']), uri).toBeUndefined();
  }
  for (const uri of ['ui://app/other', 'ui://b/app/view', 'heddle://b/ui://app/view']) {
    expect(find(uri), uri).toBeUndefined();
  }
  catalog.update('a', []);
  expect(find('ui://app/view')).toBeUndefined();
});

verifies('R6', 'names no view of a hidden tool by the URI that names its server', () => {
  const { catalog, find } = catalogWith(['a']);
  catalog.update('a', [{ uri: 'ui://app/listed', name: 'listed' }], 'resources');
  catalog.update('a', [showing('show', 'ui://app/view')]);
  expect(place(find('heddle://a/ui://app/view'))).toEqual(['a', 'ui://app/view']);
  expect(find('heddle://a/ui://app/view', ['mcp__a__show'])).toBeUndefined();
});

verifies('T13', 'shows the view and the tool for views alone only to clients with the extension', () => {
  const { catalog, find } = catalogWith(['a']);
  catalog.update('a', [
    showing('refresh', 'ui://app/view', ['app']),
    showing('both', 'ui://app/both', ['model', 'app']),
  ]);
  const host = { ...ada, capabilities: { ...NO_INPUT, extensions: APPS } };
  expect(find('ui://app/view')).toBeUndefined();
  expect(place(find('ui://app/view', [], host))).toEqual(['a', 'ui://app/view']);
  expect(place(find('ui://app/both'))).toEqual(['a', 'ui://app/both']);
  const seen = (caller: typeof ada) =>
    catalog.current().targets.filter((target) => decides({ mode: 'open' })(caller, target).effect !== 'deny');
  expect(seen(ada).map(({ name }) => name)).toEqual(['both']);
  expect(seen(host).map(({ name }) => name)).toEqual(['both', 'refresh']);
});

verifies('T13', 'never reads a view at a server that lists the name of the view of another', () => {
  const { catalog, find } = catalogWith(['a', 'b', 'evil']);
  for (const server of ['a', 'b']) catalog.update(server, [showing('show', 'ui://app/view')]);
  const forged = ['ui://a/app/view', 'ui://a/app/gone', 'ui://b/{+any}'];
  catalog.update(
    'evil',
    [
      { uri: forged[0] as string, name: 'x' },
      { uri: forged[1] as string, name: 'y' },
    ],
    'resources',
  );
  catalog.update(
    'evil',
    [
      { uriTemplate: forged[2] as string, name: 'z' },
      { uriTemplate: 'ui://{+any}', name: 't' },
    ],
    'templates',
  );
  expect(place(find('ui://a/app/view'))).toEqual(['a', 'ui://app/view']);
  expect(find('ui://a/app/gone')).toBeUndefined();
  expect(find('ui://b/app/gone')).toBeUndefined();
  expect(find('ui://a/app/view', ['mcp__a__show'])).toBeUndefined();
  expect(place(find('ui://evil/a/app/gone'))).toEqual(['evil', 'ui://a/app/gone']);
  expect(place(find('ui://evil/a/app/view'))).toEqual(['evil', 'ui://a/app/view']);
});

verifies('T13', 'reports both lists when a second server brings the URI of a view, and renames it in the tool', () => {
  const { catalog, changed } = catalogWith(['a', 'b']);
  catalog.update('a', [{ ...tool('show'), _meta: { 'ui/resourceUri': 'ui://app/view' } }]);
  const [before] = catalog.current().targets;
  expect(before?.viewNames).toBeUndefined();
  expect(changed).toEqual(['tools']);
  catalog.update('b', [{ uri: 'ui://app/view', name: 'view' }], 'resources');
  expect(changed).toEqual(['tools', 'resources', 'tools']);
  const [after] = catalog.current().targets;
  expect([...(after?.viewNames ?? [])]).toEqual([['ui://app/view', 'ui://a/app/view']]);
  expect(after?.digest).toBe(before?.digest);
  expect(catalog.current().resources.targets.map(({ publicName }) => publicName)).toEqual(['ui://b/app/view']);
});

verifies('R6', 'reads a link at the server that sent it, until the caller no longer sees the tool', () => {
  const { catalog, find } = catalogWith(['a', 'b']);
  catalog.update('a', [tool('links')]);
  const target = catalog.current().targets[0] as Target;
  const call = aCall({ target });
  for (const uri of ['note:1', 'ui://x/1']) {
    expect(find(uri)).toBeUndefined();
    expect(catalog.nameLink(call, 'a', uri)).toBe(uri);
    expect(place(find(uri))).toEqual(['a', uri]);
    expect(find(uri, ['mcp__a__links'])).toBeUndefined();
    expect(find(uri, [], { ...ada, id: 'bob' })).toBeUndefined();
  }
  expect(catalog.nameLink(call, 'b', 'ui://x/1')).toBe('ui://b/x/1');
  expect(place(find('ui://x/1'))).toEqual(['a', 'ui://x/1']);
  expect(place(find('ui://b/x/1'))).toEqual(['b', 'ui://x/1']);
  catalog.nameLink(call, 'b', 'note:1');
  expect(() => find('note:1')).toThrow('heddle://b/note:1');
});

verifies('R6', 'reads a listed URI at the server that lists it, whatever another server links', () => {
  const { catalog, find } = catalogWith(['a', 'b', 'c']);
  catalog.update('a', [tool('links')]);
  const call = aCall({ target: catalog.current().targets[0] as Target });
  catalog.update('b', [{ uri: 'note:1', name: 'x' }], 'resources');
  catalog.update('b', [{ uriTemplate: 'file:///{+path}', name: 'x' }], 'templates');
  for (const uri of ['note:1', 'file:///a', 'ui://later/1']) catalog.nameLink(call, 'a', uri);
  expect(place(find('note:1'))).toEqual(['b', 'note:1']);
  expect(() => find('file:///a')).toThrow('heddle://a/file:///a');
  catalog.update('c', [{ uri: 'ui://later/1', name: 'x' }], 'resources');
  expect(() => find('ui://later/1')).toThrow('may be any of these');
});

verifies(
  'R6',
  'names a link that begins with `heddle://` by its own server, so it is never read for that of another',
  () => {
    const { catalog, find } = catalogWith(['good', 'evil']);
    catalog.update('evil', [tool('links')]);
    const call = aCall({ target: catalog.current().targets[0] as Target });
    const forged = 'heddle://good/note:1';
    expect(catalog.nameLink(call, 'evil', forged)).toBe(`heddle://evil/${forged}`);
    expect(find(forged)).toBeUndefined();
    expect(place(find(`heddle://evil/${forged}`))).toEqual(['evil', forged]);
    catalog.update('good', [{ uri: 'note:1', name: 'x' }], 'resources');
    expect(place(find(forged))).toEqual(['good', 'note:1']);
  },
);

verifies(
  'R6',
  'reads a link only as long as its tool is in the catalog, and by the facts that the tool has now',
  () => {
    const { catalog, find } = catalogWith(['a']);
    catalog.update('a', [tool('links')]);
    catalog.nameLink(aCall({ target: catalog.current().targets[0] as Target }), 'a', 'note:1');
    catalog.update('a', [tool('links', { description: 'changed' })]);
    expect(find('note:1')?.namedBy).toEqual([catalog.current().targets[0]]);
    catalog.update('a', [tool('links', { _meta: { ui: { visibility: ['app'] } } })]);
    expect(find('note:1')).toBeUndefined();
    catalog.update('a', [tool('other')]);
    expect(find('note:1')).toBeUndefined();
  },
);

verifies('G2', 'a rule holds for a view under the name that clients see, and under that of its server', () => {
  const { catalog, find } = catalogWith(['a', 'b']);
  for (const server of ['a', 'b']) catalog.update(server, [showing('show', 'ui://app/view')]);
  expect(find('ui://a/app/view', ['ui://a/*'])).toBeUndefined();
  expect(place(find('ui://b/app/view', ['ui://a/*']))).toEqual(['b', 'ui://app/view']);
  expect(find('ui://b/app/view', ['ui://app/view'])).toBeUndefined();
});

verifies('R1', 'ignores views of no known form', () => {
  const { catalog, find } = catalogWith(['a']);
  const metas = [
    { ui: null },
    { ui: [] },
    { ui: { resourceUri: 7 } },
    { ui: { resourceUri: 'https://x/' } },
    { 'ui/resourceUri': {} },
  ];
  const odd = [...metas, { ui: { visibility: 'app' } }, { ui: { resourceUri: `ui://${'x'.repeat(9000)}` } }];
  catalog.update(
    'a',
    odd.map((_meta, at) => tool(`t${at}`, { _meta: _meta as unknown as JsonObject })),
  );
  expect(catalog.current().targets).toHaveLength(odd.length);
  expect(find('https://x/')).toBeUndefined();
  expect(find(`ui://${'x'.repeat(9000)}`)).toBeUndefined();
  expect(catalog.current().targets.filter(({ extension }) => extension)).toEqual([]);
});
