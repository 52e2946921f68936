import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { challengeFacts, parseChallenges } from './challenge.ts';

const bearer = (params: Record<string, string> = {}) => ({ scheme: 'bearer', params });

verifies('A1', 'parses the challenges of every WWW-Authenticate header, in order', () => {
  const lines = ['Negotiate', 'Basic realm="x", Bearer error="invalid_token"', 'DPoP algs="ES256 PS256"'];
  expect(parseChallenges(lines)).toEqual([
    { scheme: 'negotiate', params: {} },
    { scheme: 'basic', params: { realm: 'x' } },
    bearer({ error: 'invalid_token' }),
    { scheme: 'dpop', params: { algs: 'ES256 PS256' } },
  ]);
});

const WELL_FORMED: readonly (readonly [string, readonly object[]])[] = [
  ['Bearer', [bearer()]],
  ['  bearer   ', [bearer()]],
  ['Bearer realm="a, b=\\"c\\\\", scope="x y"', [bearer({ realm: 'a, b="c\\', scope: 'x y' })]],
  ['Bearer Realm = "a" , ERROR=invalid_token', [bearer({ realm: 'a', error: 'invalid_token' })]],
  [
    'Negotiate abc==, Bearer scope=""',
    [
      { scheme: 'negotiate', params: {} },
      { scheme: 'bearer', params: { scope: '' } },
    ],
  ],
  [
    'Bearer resource_metadata=https://a.example/.well-known/x?y=1, scope=z',
    [bearer({ resource_metadata: 'https://a.example/.well-known/x?y=1', scope: 'z' })],
  ],
  [', ,Bearer a="1",, b="2",', [bearer({ a: '1', b: '2' })]],
  ['Bearer __proto__="x"', [bearer(JSON.parse('{"__proto__":"x"}'))]],
  ['', []],
];

for (const [line, challenges] of WELL_FORMED) {
  it(`parses ${JSON.stringify(line)}`, () => expect(parseChallenges(line)).toEqual(challenges));
}

const MALFORMED = [
  'Bearer realm="open',
  'Bearer realm="a" scope="b"',
  'Bearer realm="a", realm="b"',
  'Bearer realm="a"b',
  'Bearer ="a"',
  'Bearer realm scope',
  '"Bearer"',
  'Bearer realm="a\u0007"',
  `Bearer realm="${'x'.repeat(20_000)}"`,
  `Bearer ${Array.from({ length: 40 }, (_, at) => `p${at}="x"`).join(', ')}`,
  Array.from({ length: 40 }, () => 'Bearer a="b"').join(', '),
];

for (const line of MALFORMED) {
  it(`counts ${JSON.stringify(line.slice(0, 40))} as absent`, () => {
    expect(parseChallenges(line)).toEqual([]);
    expect(parseChallenges([line, 'Bearer error="x"'])).toEqual([bearer({ error: 'x' })]);
  });
}

it('reads 16 kB of escapes without an end as absent', () => {
  expect(parseChallenges(`Bearer a="${'\\"'.repeat(8000)}`)).toEqual([]);
  expect(parseChallenges(' ,'.repeat(8000))).toEqual([]);
});

verifies('A1', 'reads error, scopes and metadata URL from Bearer and DPoP challenges only', () => {
  const challenges = parseChallenges([
    'Basic realm="x", scope="no"',
    'Bearer scope="read write read \u00e9 wr\u00eete"',
    'DPoP error="insufficient_scope", resource_metadata="https://a.example/prm"',
  ]);
  expect(challengeFacts({ challenges })).toEqual({
    error: 'insufficient_scope',
    isDpop: true,
    scopes: ['read', 'write'],
    metadataUrl: 'https://a.example/prm',
  });
  expect(challengeFacts({ challenges: [bearer({ resource_metadata: 'nonsense' })] })).toEqual({
    scopes: [],
    isDpop: false,
  });
});
