import { expect, it } from 'vitest';
import { findInlineSecrets, withReferences } from './inline-secrets.ts';

const jwt = 'eyJhbGciOiJub25lIn0.eyJhIjoxfQ.';

it.each([
  ['GITHUB_TOKEN', 'anything'],
  ['MY_API_KEY', 'anything'],
  ['DB_PASSWORD', 'anything'],
  ['PLAIN', 'ghp_0123456789abcdef'],
  ['PLAIN', 'sk-proj-0123456789'],
  ['PLAIN', 'xoxb-0123456789-abc'],
  ['PLAIN', 'AKIAABCDEFGHIJKLMNOP'],
  ['PLAIN', jwt],
])('finds the secret in %s=%s', (key, value) => {
  const entry = { command: 'x', env: { [key]: value, OTHER: 'y' } };
  const found = findInlineSecrets('srv', entry);
  expect(found).toMatchObject([{ key, name: `srv.${key}`, value }]);
  expect(withReferences(entry, found)).toEqual({
    command: 'x',
    env: { [key]: `\${secret:srv.${key}}`, OTHER: 'y' },
  });
});

it.each([
  ['ZONE', 'UTC'],
  ['TOKEN', '${TOKEN}'],
  ['TOKEN', '${secret:srv.TOKEN}'],
  ['TOKEN', ''],
  ['URL', 'https://example.com/sk-not-a-key'],
  ['NAME', 'sk-'],
])('leaves %s=%s alone', (key, value) => {
  expect(findInlineSecrets('srv', { command: 'x', env: { [key]: value } })).toEqual([]);
});

it('keeps the scheme of a header before the reference', () => {
  const entry = { url: 'https://h/', headers: { Authorization: 'Bearer abc', Cookie: 'a=b', Accept: 'x' } };
  const found = findInlineSecrets('srv', entry);
  expect(found.map(({ value }) => value)).toEqual(['abc', 'a=b']);
  expect(withReferences(entry, found).headers).toEqual({
    Authorization: 'Bearer ${secret:srv.Authorization}',
    Cookie: '${secret:srv.Cookie}',
    Accept: 'x',
  });
});

it('finds the client secret and the private key of OAuth, and leaves the client id', () => {
  const privateKey = '-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----';
  const oauth = { clientId: 'abc', clientSecret: 'hush', privateKey, scopes: ['read'] };
  const entry = { url: 'https://h/', oauth };
  const found = findInlineSecrets('srv', entry);
  expect(withReferences(entry, found).oauth).toEqual({
    clientId: 'abc',
    clientSecret: '${secret:srv.clientSecret}',
    privateKey: '${secret:srv.privateKey}',
    scopes: ['read'],
  });
});
