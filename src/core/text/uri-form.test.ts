import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { foldedForms, foldUri, whyAmbiguous } from './uri-form.ts';

verifies('G2', 'a URI is ambiguous when its scheme or authority has another normal form', () => {
  for (const uri of [
    'HTTPS://docs.example/a',
    'https://Docs.example/a',
    'https://docs.example:443/a',
    'https://user@docs.example/a',
    'https://docs.example\t/a',
    'https:/docs.example/a',
    'https:docs.example/a',
    'https://docs.example./a',
    'https://d\u043ecs.example/a',
    'https://0x7f.1/a',
    'https://[::0001]/a',
    'https://',
    'file:a',
    'Note://a',
    'note:./a',
    'note://a?path=./b',
  ]) {
    expect([uri, whyAmbiguous(uri)]).toEqual([uri, expect.any(String)]);
  }
});

verifies(
  'G2',
  'a URI is ambiguous when its decoded text has a control character, a dot segment or a look-alike',
  () => {
    for (const uri of [
      'file:///docs/..%00/etc',
      'file:///docs/.%0a./etc',
      'file:///docs/a%7f',
      'note://a%C2%85b',
      'file:///docs/%EF%BC%8E%EF%BC%8E/etc',
      'file:///docs%EF%BC%8Fetc',
    ]) {
      expect([uri, whyAmbiguous(uri)]).toEqual([uri, expect.any(String)]);
    }
  },
);

verifies('G2', 'a URI in normal form is not ambiguous, whatever its scheme', () => {
  for (const uri of [
    'https://docs.example/a//b?q=https://x.example/',
    'https://docs.example:8443?x',
    'https://xn--bcher-kva.example/a',
    'file:///c%3A/Users/a.md',
    'file:///my%20notes/caf%C3%A9%20%231.md',
    'file:///文档（1）….md',
    'note://One/Two',
    'urn:isbn:0451450523',
    'proxy://https://x.example/a',
    'ui://widget/a.html#part',
    'readme.md',
  ]) {
    expect([uri, whyAmbiguous(uri)]).toEqual([uri, undefined]);
  }
});

verifies('G2', 'a long URI is folded in linear time', () => {
  expect(foldUri(`a:${'/. '.repeat(3000)}b`)).toMatch(/b$/);
  expect(foldUri(`a:${'. '.repeat(4000)}`)).toBe('a:');
});

verifies('G2', 'a URI has the folded form of the resource that a server may read it as', () => {
  for (const [uri, read] of [
    ['file:///private/s.txt%3fx', 'file:///private/s.txt'],
    ['file:///private/s.txt%23x', 'file:///private/s.txt'],
    ['file:///private/s.txt%3Bx', 'file:///private/s.txt'],
    ['https://docs.example/secret%3f', 'https://docs.example/secret'],
    ['https://docs.example/;x/secret', 'https://docs.example/secret'],
    ['https://docs.example/a;v=1/secret;w?q', 'https://docs.example/a/secret'],
    ['file://x/private/s.txt', 'file:///private/s.txt'],
    ['file://127.0.0.1/private/s.txt?q', 'file:///private/s.txt'],
    ['/private/s.txt', 'file:///private/s.txt'],
    ['https://docs.example/q?id=1&', 'https://docs.example/q?id=1'],
    ['https://docs.example/q?&id=1', 'https://docs.example/q?id=1'],
    ['https://docs.example/q?id=1&&n=2#part', 'https://docs.example/q?id=1&n=2'],
  ] as const) {
    expect([uri, foldedForms(uri)]).toEqual([uri, expect.arrayContaining([foldUri(read)])]);
  }
});
