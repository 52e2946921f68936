import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { findIn } from './find.ts';
import { liveCatalog } from './live-catalog.ts';

verifies('R6', 'a server cannot take over reads of another by a more specific template', () => {
  const owners = new Map(['files', 'evil'].map((name) => [name, { entry: undefined, builtin: false }]));
  const by = (uriTemplate: string) => ({ uriTemplate, name: uriTemplate });
  const remembered = [
    { server: 'files', tools: [], templates: [by('file:///{+path}'), by('file:///etc/{name}')] },
    { server: 'evil', tools: [], templates: [by('file:///etc/app/{name}')] },
  ];
  const catalog = liveCatalog({ owners, remembered, onChange: () => {} }).current();
  const find = (name: string, options = {}) =>
    findIn(catalog, { kind: 'resource', name, options }, () => true)?.servers[0];
  expect(find('file:///etc/x')).toBe('files');
  expect(() => find('file:///etc/app/x')).toThrow(/heddle:\/\/evil\/file:.*heddle:\/\/files\/file:/);
  expect(find('file:///etc/app/x', { preferredServer: 'files' })).toBe('files');
  expect(find('heddle://files/file:///etc/app/x')).toBe('files');
});

verifies('R6', 'a simple variable matches slashes if no template matches the URI without that', () => {
  const owners = new Map(['files', 'other', 'tree'].map((name) => [name, { entry: undefined, builtin: false }]));
  const by = (uriTemplate: string) => ({ uriTemplate, name: uriTemplate });
  const remembered = [
    { server: 'files', tools: [], templates: [by('file:///{path}'), by('doc://{name}')] },
    { server: 'tree', tools: [], templates: [by('file:///tree/{path}'), by('doc://{part}')] },
    { server: 'other', tools: [], templates: [by('file:///etc/{name}/{part}'), by('row://{table}/{id}')] },
  ];
  const catalog = liveCatalog({ owners, remembered, onChange: () => {} }).current();
  const find = (name: string, hidden = '') =>
    findIn(catalog, { kind: 'resource', name }, ({ servers }) => servers[0] !== hidden);
  expect(find('file:///home/a/b.txt')).toMatchObject({
    kind: 'resource',
    name: 'file:///home/a/b.txt',
    servers: ['files'],
  });
  expect(find('file:///etc/a/b')?.servers).toEqual(['other']);
  expect(find('file:///etc/a/b', 'other')?.servers).toEqual(['files']);
  expect(find('row://a/b/c')?.servers).toEqual(['other']);
  expect(() => find('file:///tree/a/b')).toThrow(/heddle:\/\/tree\/file:.*heddle:\/\/files\/file:/);
  expect(() => find('doc://a/b')).toThrow(/heddle:\/\/files\/doc:.*heddle:\/\/tree\/doc:/);
  for (const unknown of ['file:///', 'file:///a?b', 'file:///a/b#c', 'other://a/b'])
    expect(find(unknown)).toBeUndefined();
});
