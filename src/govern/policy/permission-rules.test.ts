import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aTarget } from '../../core/fixtures.ts';
import { decideByPermissions, type ServerPermissions } from './permission-rules.ts';

const rulesOf = (permissions: ServerPermissions) => ({
  permissions: { allow: [], ask: [], deny: [] },
  servers: new Map([['s', permissions]]),
});
const tool = (permissions: ServerPermissions, name: string) =>
  decideByPermissions(rulesOf(permissions), undefined, aTarget({ servers: ['s'], name }))?.effect;
const resource = (allowedResources: readonly string[], uri: string, kind: 'resource' | 'template' = 'resource') => {
  const target = aTarget({ kind, publicName: uri, servers: ['s'], name: uri });
  return decideByPermissions(rulesOf({ allowedResources: [...allowedResources] }), undefined, target)?.effect;
};

verifies(
  'G2',
  'a glob in allowedResources allows what it matches, and nothing that servers may read as another',
  () => {
    const globs = ['file:///docs/*', 'note://*/open'];
    for (const uri of ['file:///docs/a/b.md', 'file:///docs/..hidden', 'note://x/open'])
      expect([uri, resource(globs, uri)]).toEqual([uri, 'allow']);
    for (const uri of [
      'file:///docs',
      'file:///docs/../key',
      'file:///docs/a%2F..%2Fkey',
      'FILE:///docs/a',
      'note://x/closed',
    ])
      expect([uri, resource(globs, uri)]).toEqual([uri, 'deny']);
  },
);

verifies('G2', 'a glob in allowedResources covers the templates below it', () => {
  expect(resource(['file:///docs/*'], 'file:///docs/{+path}', 'template')).toBe('allow');
  expect(resource(['file:///docs/*'], 'file:///{+path}', 'template')).toBe('deny');
});

verifies('G2', 'a template in allowedResources allows no URI with more slashes than it can expand to', () => {
  expect(resource(['file:///{path}'], 'file:///a')).toBe('allow');
  expect(resource(['file:///{path}'], 'file:///a/b')).toBe('deny');
  expect(resource(['file:///x{/rest*}'], 'file:///x/a/b')).toBe('allow');
});

verifies('G2', 'a glob in deniedTools denies what it matches, and one in allowedTools allows it', () => {
  expect(tool({ deniedTools: ['delete_*'] }, 'delete_all')).toBe('deny');
  expect(tool({ deniedTools: ['delete_*'] }, 'list')).toBeUndefined();
  const both = { allowedTools: ['get_*'], deniedTools: ['*_secret'] };
  expect(['get_one', 'get_secret', 'put_one'].map((name) => tool(both, name))).toEqual(['allow', 'deny', 'ask']);
});
