import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../core/call.ts';
import { remoteEntry, stdioEntry } from '../schema/server-schema.ts';
import { fastEntry, fastLayer } from './fast-layer.ts';
import { type Layer, toLayer } from './layer.ts';
import { parseDocument } from './parse-document.ts';

const rarely = <T, U>(odd: fc.Arbitrary<T>, usual: fc.Arbitrary<U>) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd });
const text = rarely(fc.constantFrom('', 'a\nb', 'a\0b', '\r'), fc.string());
const item = rarely(fc.constant(5), text);
const texts = fc.dictionary(fc.constantFrom('A', 'B'), item);
const url = fc.oneof(
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.constantFrom(
    'http://h',
    'https://h:1/',
    'https://h:99999/',
    'ws://h/',
    ' https://h/',
    'https://h/a b',
    'https://../',
  ),
  fc.constantFrom(
    'https://',
    'http://[::1]/',
    'https://me:pw@h/',
    'HTTPS://h/',
    'https://h?x',
    'https://1.2.3.999/',
    'x',
  ),
);
const treatment = {
  description: rarely(fc.constant(null), text),
  enabled: rarely(fc.constant('yes'), fc.boolean()),
  autoConnect: fc.boolean(),
};
const entry = fc.oneof(
  fc.record(
    {
      type: rarely(fc.constantFrom('http', 5), fc.constant('stdio')),
      command: text,
      args: fc.array(item, { maxLength: 3 }),
      env: texts,
      ...treatment,
    },
    { requiredKeys: ['command'] },
  ),
  fc.record(
    { type: rarely(fc.constant('ws'), fc.constantFrom('http', 'sse')), url, headers: texts, ...treatment },
    { requiredKeys: ['url'] },
  ),
);

it('returns an entry equal to that of the zod schema, or undefined', () => {
  let returned = 0;
  fc.assert(
    fc.property(entry, (written) => {
      const found = fastEntry(written as JsonObject);
      if (found === undefined) return;
      returned++;
      const schema = 'command' in written ? stdioEntry : remoteEntry;
      expect(found).toEqual(schema.parse(written));
    }),
    { seed: 7433, numRuns: 3000 },
  );
  expect(returned).toBeGreaterThan(100);
});

it('returns undefined for an entry that is neither stdio nor remote, or both', () => {
  for (const odd of [{}, { args: [] }, { command: 'x', url: 'http://h/' }, { url: 'http://h/', args: [] }]) {
    expect(fastEntry(odd)).toBeUndefined();
  }
});

it('returns a layer equal to that of `toLayer`, or undefined', () => {
  let returned = 0;
  const name = rarely(fc.constantFrom('a b', 'heddle', ''), fc.constantFrom('github', 'files', 'time'));
  const reference = rarely(fc.constant('${UNSET}'), fc.constantFrom('${TEAM}', '${UNSET:-none}', '$${x}', 'plain'));
  const file = fc.record(
    {
      $schema: fc.constant('./heddle.schema.json'),
      mode: rarely(fc.constant('strict'), fc.constant(undefined)),
      mcpServers: rarely(
        fc.constant([]),
        fc.dictionary(
          name,
          fc.tuple(entry, reference).map(([written, text]) => ({ ...written, description: text })),
          {
            maxKeys: 3,
          },
        ),
      ),
    },
    { requiredKeys: ['mcpServers'] },
  );
  const variables = { env: { TEAM: 'blue' }, workspaceFolder: '/project', userHome: '/user' };
  fc.assert(
    fc.property(file, fc.boolean(), (content, foreign) => {
      const document = parseDocument('/project/heddle.json', JSON.stringify(content, null, 2));
      if (!('root' in document)) throw new Error(document.message);
      const options = { document, foreign, variables, folder: '/project' };
      const found = fastLayer('project', options);
      if (found === undefined) return;
      returned++;
      expect(withLocations(found)).toEqual(withLocations(toLayer('project', options)));
    }),
    { seed: 7433, numRuns: 1000 },
  );
  expect(returned).toBeGreaterThan(100);
});

const withLocations = ({ servers, ...rest }: Layer) => ({
  ...rest,
  servers: servers.map(({ locations, ...server }) => ({ ...server, locations: locations() })),
});
