import { expect, it } from 'vitest';
import { within } from '../../../test/limits.ts';
import { verifies } from '../../../test/requirements.ts';
import { bySpecificity, isMeant, parseUriTemplate, type UriTemplate } from './uri-template.ts';

const template = (text: string) => parseUriTemplate(text) as UriTemplate;

verifies('R6', 'a template matches its expansions, with every operator of RFC 6570', () => {
  const made: readonly [string, readonly string[], readonly string[]][] = [
    ['db://users/{id}', ['db://users/1', 'db://users/a%2Fb'], ['db://users/', 'db://users/1/2', 'db://user/1']],
    ['db://{table}/{id}/row', ['db://t/1/row'], ['db://t/row', 'db://t/1/rows', 'xdb://t/1/row']],
    ['file:///{+path}', ['file:///a/b/c.txt', 'file:///a?b#c'], ['file:///', 'file:/a']],
    ['doc:{name}{#part}', ['doc:a#b/c', 'doc:a'], ['doc:#b']],
    ['pic://{name}{.format}', ['pic://sun.png', 'pic://sun'], ['pic://sun/.png']],
    ['r://root{/first,second}', ['r://root/a/b', 'r://root/a', 'r://root'], ['r://rooted', 'r://root?a']],
    ['r://root{/rest*}/end', ['r://root/a/b/c/end', 'r://root/end'], ['r://root/a']],
    ['r://x{/one}', ['r://x/a'], ['r://x/a/b']],
    ['m://p{;x,y}', ['m://p;x=1;y=2', 'm://p;x', 'm://p'], ['m://p;z=1']],
    [
      's://find{?q,limit}',
      ['s://find', 's://find?q=a%20b', 's://find?q=a&limit=3'],
      ['s://find?other=1', 's://find?q=a#x'],
    ],
    ['s://find{?filter*}', ['s://find?anything=1&more=2'], ['s://find#x']],
    ['s://find?fixed=1{&q}', ['s://find?fixed=1', 's://find?fixed=1&q=2'], ['s://find?fixed=1&z=2']],
    ['s://{name:3}', ['s://abc'], []],
    ['plain://text', ['plain://text'], ['plain://texts']],
  ];
  for (const [text, uris, others] of made) {
    for (const uri of uris) expect(template(text).matches(uri), `${text} ← ${uri}`).toBe(true);
    for (const uri of others) expect(template(text).matches(uri), `${text} ↚ ${uri}`).toBe(false);
  }
});

verifies(
  'R6',
  'simple variables match slashes on demand, but neither ? nor #, and other variables stay as they are',
  () => {
    const made: readonly [string, readonly string[], readonly string[]][] = [
      [
        'd://{a}/end',
        ['d://a/end', 'd://a/b/end', 'd:///end/end'],
        ['d:///end', 'd://a/b', 'd://a?b/end', 'd://a#/end'],
      ],
      ['d://{a}/{b}', ['d://a/b/c', 'd://a//b'], ['d://a', 'd://a/', 'd:///']],
      ['d://{a}{.b}', ['d://a/b.c'], ['d://', 'd://a?']],
      ['d://x{/b}', [], ['d://x/a', 'd://x/a/b']],
    ];
    for (const [text, uris, others] of made) {
      for (const uri of uris) expect(template(text).matchesWithSlashes(uri), `${text} ← ${uri}`).toBe(true);
      for (const uri of others) expect(template(text).matchesWithSlashes(uri), `${text} ↚ ${uri}`).toBe(false);
    }
  },
);

it('rejects invalid templates', () => {
  for (const text of [
    'a{',
    'a}',
    'a{b',
    '{}',
    '{{a}}',
    '{a b}',
    '{!a}',
    '{a,}',
    '{a:0}',
    `x${'{a}'.repeat(11)}`,
    'x'.repeat(1001),
  ]) {
    expect(parseUriTemplate(text), text).toBeUndefined();
  }
});

verifies('R6', 'matches any template and URI in linear time', async () => {
  const hostile = [
    `x${'{+a}a'.repeat(10)}b`,
    `x${'{a}'.repeat(10)}!`,
    `x${'{?a}'.repeat(10)}!`,
    `x{+a,b,c,d,e,f,g,h,i,j}!`,
  ];
  const uris = [`x${'a'.repeat(2000)}`, `x${'?a=a'.repeat(500)}`, `x${'?'.repeat(2000)}`];
  await within(500, () => {
    for (const text of hostile) for (const uri of uris) template(text).matches(uri);
  });
  expect(template('x{+a}').matches(`x${'a'.repeat(3000)}`)).toBe(false);
});

it('sorts by specificity, and never leaves different texts equal', () => {
  const order = ['a://b/c/{x}', 'a://b/{x}/c', 'a://b/{x}', 'a://b/{y}', '{+x}'];
  const sorted = [...order].reverse().map(template).sort(bySpecificity);
  expect(sorted.map(({ text }) => text)).toEqual(order);
});

verifies('G2', 'a rule for a folder of resources does not match URIs above it', () => {
  expect(isMeant('file:///docs/a/b.md', 'file:///docs/{+path}')).toBe(true);
  for (const climbing of [
    '../secret',
    'a/../../secret',
    '%2e%2e/secret',
    '..%2fsecret',
    '..\\secret',
    'a/..',
    '%252e%252e%252fsecret',
  ]) {
    expect(isMeant(`file:///docs/${climbing}`, 'file:///docs/{+path}'), climbing).toBe(false);
  }
  expect(isMeant('file:///docs/../notes.md', 'file:///docs/../notes.md')).toBe(true);
  expect(isMeant('file:///docs/..hidden/a...b.md', 'file:///docs/{+path}')).toBe(true);
});
