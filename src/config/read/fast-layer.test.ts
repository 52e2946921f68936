import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../core/call.ts';
import { remoteEntry, stdioEntry } from '../schema/server-schema.ts';
import { fastEntry } from './fast-layer.ts';

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

it('gives an entry exactly as the schema does, or leaves it to the schema', () => {
  let plain = 0;
  fc.assert(
    fc.property(entry, (written) => {
      const found = fastEntry(written as JsonObject);
      if (found === undefined) return;
      plain++;
      const schema = 'command' in written ? stdioEntry : remoteEntry;
      expect(found).toEqual(schema.parse(written));
    }),
    { seed: 7433, numRuns: 3000 },
  );
  expect(plain).toBeGreaterThan(100);
});

it('leaves to the schema what is neither local nor remote, or both', () => {
  for (const odd of [{}, { args: [] }, { command: 'x', url: 'http://h/' }, { url: 'http://h/', args: [] }]) {
    expect(fastEntry(odd)).toBeUndefined();
  }
});
