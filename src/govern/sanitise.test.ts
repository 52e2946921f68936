import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { sanitised } from './sanitise.ts';

const clean = (input: JsonObject) => JSON.parse(JSON.stringify(sanitised(input)));

verifies('V1', 'redacts values of secret names in any case and at any depth', () => {
  const names = [
    'password',
    'userPassword',
    'SECRET',
    'clientSecret',
    'access_token',
    'apiKey',
    'APIKEY',
    'api_key',
    'Authorization',
    'credentials',
    'passwd',
    'db_pwd',
    'passphrase',
    'cookie',
    'Set-Cookie',
    'privateKey',
    'accessKey',
    'connectionString',
    'dsn',
    'SENTRY_DSN',
  ];
  for (const name of names) {
    expect(clean({ [name]: 'hunter2' })).toEqual({ [name]: '[REDACTED]' });
    expect(clean({ a: [{ b: { [name]: { deep: 'hunter2' } } }] })).toEqual({ a: [{ b: { [name]: '[REDACTED]' } }] });
  }
  const plain = { name: 'ada', keyboard: 'qwerty', fieldsName: 'x', author: 'y' };
  expect(clean(plain)).toEqual(plain);
});

verifies('V1', 'redacts values of names with a secret word, and keeps longer words and switches', () => {
  const names =
    'auth bearer pin session_id sessionId SESSIONID passwd pwd passphrase otp cookie set-cookie jwt sid connect.sid csrf ' +
    'X-CSRF client_secret private_key access_key x-api-key credentials refresh signature X-Auth-Key userPIN pinCode ' +
    'PHPSESSID smtp_pass signingKey SSHKey cvv verification_code x-amz-signature ' +
    'mfa_code puk pincode code_verifier authKey authkey sessionkey';
  for (const name of names.split(' ')) {
    expect.soft(clean({ a: [{ [name]: 'hunter2' }] }), name).toEqual({ a: [{ [name]: '[REDACTED]' }] });
  }
  expect(clean({ pin: 4711 })).toEqual({ pin: '[REDACTED]' });
  const kept =
    'pinned author authors authored mapping spin pinpoint signatures_count key cacheKey issue_key session sessions refreshed ' +
    'sidebar inside bearers compass passage passed code opinion hotpink designature region code verifier mfa puking';
  for (const name of kept.split(' ')) expect.soft(clean({ [name]: 'x1' }), name).toEqual({ [name]: 'x1' });
  const switches = { auth: true, refresh: false, pin: null };
  expect(clean(switches)).toEqual(switches);
});

verifies('G11', 'redacts values of secret words in lists, pairs, queries and texts of JSON', () => {
  expect(clean({ argv: ['--pin', '4711'] })).toEqual({ argv: ['--pin', '[REDACTED]'] });
  expect(clean({ name: 'session_id', value: 'x1' })).toEqual({ name: 'session_id', value: '[REDACTED]' });
  expect(clean({ url: 'https://a/?sid=x1&page=2' })).toEqual({ url: 'https://a/?sid=[REDACTED]&page=2' });
  expect(clean({ raw: 'theme=dark; session_id=x1; lang=en' })).toEqual({
    raw: 'theme=dark; session_id=[REDACTED]; lang=en',
  });
  expect(clean({ body: '{"pin": "4711", "a": 1}' })).toEqual({ body: '{"pin": "[REDACTED]", "a": 1}' });
  const plain = { text: 'spin=1 and author=ada, auth: failed, "mapping": "x"' };
  expect(clean(plain)).toEqual(plain);
});

verifies('G11', 'redacts the whole value of a secret word in a text: blanks, signs, numbers and quotes', () => {
  const texts = [
    ['{"passcode": "correct horse battery staple"}', '{"passcode": "[REDACTED]"}'],
    ['{"pin": "a#bc&d;e", "a": 1}', '{"pin": "[REDACTED]", "a": 1}'],
    ['{"pin": "a\\"b c"}', '{"pin": "[REDACTED]"}'],
    ['{"pin": 123456, "a": 1}', '{"pin": [REDACTED], "a": 1}'],
    ['{"userPin":"1234","userPIN":-1.5e3}', '{"userPin":"[REDACTED]","userPIN":[REDACTED]}'],
    ['pin="12 34" a="b c"', 'pin="[REDACTED]" a="b c"'],
    ["{'pin': '12 34', 'a': 'b'}", "{'pin': '[REDACTED]', 'a': 'b'}"],
    ['{\\"pin\\": \\"12 34\\"}', '{\\"pin\\": \\"[REDACTED]"}'],
    ['{"otp": "12 34', '{"otp": "[REDACTED]'],
    ['{"password": "a#b c"}', '{"password": "[REDACTED]"}'],
    ['link="https://a/?sid=x1&b=2"', 'link="https://a/?sid=[REDACTED]&b=2"'],
  ] as const;
  for (const [body, shown] of texts) expect.soft(clean({ body }), body).toEqual({ body: shown });
  const plain = { body: '{"auth": true, "refresh": null, "pin": "", "spin": 12, "pinned": "a b"} opinion="a b"' };
  expect(clean(plain)).toEqual(plain);
});

verifies('G11', 'redacts the value of a pair with a secret name', () => {
  const hidden = '[REDACTED]';
  expect(clean({ headers: [{ name: 'Authorization', value: 'x1' }] })).toEqual({
    headers: [{ name: 'Authorization', value: hidden }],
  });
  expect(clean({ value: { a: 'x1' }, key: 'api_key' })).toEqual({ value: hidden, key: 'api_key' });
  expect(clean({ Name: 'DB_PASSWORD', Values: ['x1'] })).toEqual({ Name: 'DB_PASSWORD', Values: hidden });
  expect(
    clean({
      headers: [
        ['Cookie', 'x1'],
        ['Accept', '*/*'],
      ],
    }),
  ).toEqual({
    headers: [
      ['Cookie', hidden],
      ['Accept', '*/*'],
    ],
  });
  expect(clean({ raw: ['Accept', '*/*', 'Cookie', 'x1'] })).toEqual({ raw: ['Accept', '*/*', 'Cookie', hidden] });
  expect(clean({ argv: ['run', '-v', '--token', 'x1'] })).toEqual({ argv: ['run', '-v', '--token', hidden] });
  expect(clean({ env: ['TOKEN=x1', 'HOME=/root'] })).toEqual({ env: [`TOKEN=${hidden}`, 'HOME=/root'] });
  const plain = { name: 'color', value: 'red', list: [['a', 'b']], about: { title: 'my token', value: 1 } };
  expect(clean(plain)).toEqual(plain);
});

verifies('G11', 'redacts secrets of well-known forms in any text', () => {
  const at = (text: string) => clean({ text }).text;
  expect(at('curl -H "X: Bearer abc.def"')).toBe('curl -H "X: Bearer [REDACTED]');
  expect(at('clone https://ada:hunter2@example.com/a')).toBe('clone https://ada:[REDACTED]@example.com/a');
  expect(at('https://0123456789abcdef0123@example.com/a')).toBe('https://[REDACTED]@example.com/a');
  expect(at('key ghp_0123456789abcdef is old')).toBe('key [REDACTED] is old');
  expect(at('sk-proj-0123456789, AKIAABCDEFGHIJKLMNOP')).toBe('[REDACTED], [REDACTED]');
  expect(at('{"password": "hunter2"}')).toBe('{"password": "[REDACTED]');
  expect(at('run --api-key hunter2 --verbose')).toBe('run --api-key [REDACTED] --verbose');
  expect(at('key: x\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nend')).toBe(
    'key: x\n[REDACTED]\nend',
  );
  const plain = 'See http://host:8080/sk-not-a-key, mail ada@example.com at 10:30, sort=asc';
  expect(at(plain)).toBe(plain);
});

verifies('G11', 'redacts a secret that begins before the cut and ends after it', () => {
  for (const secret of [`https://ada:${'p1'.repeat(600)}@h`, `-----BEGIN PRIVATE KEY-----${'p1'.repeat(600)}`]) {
    const { text } = clean({ text: `${'x'.repeat(150)} ${secret}` });
    expect(text).not.toContain('p1');
    expect(text).toMatch(/\.\.\.\[truncated\]$/);
  }
  expect(clean({ text: `${'x '.repeat(98)}ghp_${'q'.repeat(40)}` }).text).toBe(
    `${`${'x '.repeat(98)}[REDACTED]`.slice(0, 200)}...[truncated]`,
  );
});

verifies('G11', 'stops reading arguments when the copy has 4 KB', () => {
  let reads = 0;
  const row = () => ({
    note: 'x'.repeat(300),
    get seen() {
      return ++reads;
    },
  });
  const text = clean({ rows: Array.from({ length: 1000 }, row) });
  expect(text).toMatch(/^.{4096}\.\.\.\[truncated\]$/);
  expect(reads).toBeLessThan(30);
});

verifies('G11', 'takes linear time for texts that look like secrets', () => {
  const runs = ['tokentoken-', '://a:', 'a:/', 'eyJ-', 'eyJ.', 'sk-sk_', '-----BEGIN PRIVATE KEY', 'bearer', '@tcp('];
  for (const run of runs) expect(clean({ text: run.repeat(100_000) }).text.length).toBeLessThan(230);
});

verifies('G11', 'shows no secret that is cut where the search for secrets ends', () => {
  for (let chars = 450; chars < 512; chars++) {
    const jwt = `eyJ${'a'.repeat(200)}.${'b'.repeat(chars - 207)}.c`;
    const text = clean({ text: `${jwt} sk-ant-REALKEY1234567890abcdef` }).text;
    expect(text).toMatch(/^\[REDACTED\]/);
    expect(text).not.toMatch(/REALKEY|sk-/);
  }
});

verifies('V1', 'cuts strings at 200 characters and marks them', () => {
  expect(clean({ text: 'x'.repeat(200) })).toEqual({ text: 'x'.repeat(200) });
  expect(clean({ text: 'x'.repeat(201) })).toEqual({ text: `${'x'.repeat(200)}...[truncated]` });
});

verifies('V1', 'limits the total to 4 KB and marks the cut', () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`key${index}`, 'x'.repeat(100)]));
  expect(clean({ small: 1 })).toEqual({ small: 1 });
  expect(clean(many)).toMatch(/^.{4096}\.\.\.\[truncated\]$/);
});

verifies('V1', 'stops at a depth of 8', () => {
  let deep: JsonObject = { end: true };
  for (let level = 0; level < 500; level++) deep = { in: deep };
  expect(JSON.stringify(sanitised(deep))).toContain('[deeper]');
});

verifies('V1', 'keeps a key named __proto__ as an own key', () => {
  const kept = sanitised(JSON.parse('{"__proto__": {"polluted": true}, "a": 1}'));
  expect(JSON.stringify(kept)).toBe('{"__proto__":{"polluted":true},"a":1}');
  expect(({} as JsonObject).polluted).toBeUndefined();
});

verifies('V1', 'no value of a secret name survives in any structure', () => {
  const wrapped = fc.letrec<{ tree: JsonObject }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.constant({ token: 'hunter2' }),
      fc.record({
        a: tie('tree'),
        b: fc.array(tie('tree'), { maxLength: 2 }),
        text: fc.string({ unit: 'grapheme-ascii', maxLength: 5 }),
      }),
    ),
  })).tree;
  fc.assert(
    fc.property(wrapped, (input) => {
      expect(JSON.stringify(sanitised(input))).not.toContain('hunter2');
    }),
  );
});

verifies('P6', 'cuts a long name before it is searched, and takes its value for a secret', () => {
  const cut = `${'x'.repeat(200)}...[truncated]`;
  const long = 'x'.repeat(1_000_000);
  expect(sanitised({ [`${long}password`]: 'hunter2', a: 1 })).toEqual({ [cut]: '[REDACTED]', a: 1 });
  expect(sanitised({ deep: { [long]: { a: 1 } } })).toEqual({ deep: { [cut]: '[REDACTED]' } });
});
