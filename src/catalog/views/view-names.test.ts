import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { nameViews } from './view-names.ts';

const SERVERS = ['a', 'b', 'weather'];
const named = (listed: Readonly<Record<string, readonly string[]>>) =>
  nameViews(
    Object.entries(listed).map(([server, views]) => ({ server, views })),
    (name) => SERVERS.includes(name),
  );

verifies('T13', 'keeps the URI of one server, also one that begins with the name of that server', () => {
  const names = named({ a: ['ui://x/1'], weather: ['ui://weather/view'] });
  expect(names.nameOf('a', 'ui://x/1')).toBe('ui://x/1');
  expect(names.nameOf('weather', 'ui://weather/view')).toBe('ui://weather/view');
});

verifies('T13', 'names the server in a URI of two servers, and in one that begins with the name of another', () => {
  const names = named({ a: ['ui://x/1', 'ui://weather/view'], b: ['ui://x/1', 'ui://a/x/1'] });
  expect(names.nameOf('a', 'ui://x/1')).toBe('ui://a/x/1');
  expect(names.nameOf('b', 'ui://x/1')).toBe('ui://b/x/1');
  expect(names.nameOf('b', 'ui://a/x/1')).toBe('ui://b/a/x/1');
  expect(names.nameOf('a', 'ui://weather/view')).toBe('ui://a/weather/view');
});

verifies('T13', 'names a link apart if another server has the URI, and never as a URI that its server lists', () => {
  const names = named({ a: ['ui://x/1'], b: ['ui://b/x/1'] });
  expect(names.nameOf('b', 'ui://y/1')).toBe('ui://y/1');
  expect(names.nameOf('b', 'ui://a/y')).toBe('ui://b/a/y');
  expect(names.nameOf('b', 'ui://x/1')).toBe('heddle://b/ui://x/1');
});

const uri = fc
  .array(fc.constantFrom('a', 'b', 'weather', 'x', ''), { minLength: 1, maxLength: 4 })
  .map((parts) => `ui://${parts.join('/')}`);

verifies('T13', 'gives each URI of each server one name, and no name begins with that of another server', () => {
  const lists = fc.record({ a: fc.array(uri), b: fc.array(uri), weather: fc.array(uri) });
  fc.assert(
    fc.property(lists, (listed) => {
      const names = named(listed);
      const all = Object.entries(listed).flatMap(([server, uris]) =>
        [...new Set(uris)].map((one) => ({ server, name: names.nameOf(server, one) })),
      );
      expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
      for (const { server, name } of all) expect(names.split(name)?.server ?? server).toBe(server);
      const reversed = named(Object.fromEntries(Object.entries(listed).reverse()));
      expect(reversed.key).toBe(names.key);
    }),
  );
});
