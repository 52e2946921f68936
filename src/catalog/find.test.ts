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
