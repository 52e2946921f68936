import { expect, it } from 'vitest';
import { previewValue } from '../../config/edit/preview.ts';
import { findInlineSecrets, findMixedSecrets, withReferences } from './inline-secrets.ts';

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
  expect(found).toMatchObject([{ key: `env.${key}`, parts: [{ name: `srv.${key}`, value }] }]);
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
  expect(found.flatMap(({ parts }) => parts.map(({ value }) => value))).toEqual(['abc', 'a=b']);
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

it.each([
  [
    ['--access-token', 'sbp_0123456789abcdef'],
    ['--access-token', '${secret:srv.access-token}'],
  ],
  [['--api-key=abc'], ['--api-key=${secret:srv.api-key}']],
  [
    ['-e', 'GITHUB_TOKEN=ghp_0123456789abcdef'],
    ['-e', 'GITHUB_TOKEN=${secret:srv.GITHUB_TOKEN}'],
  ],
  [['postgresql://u:p@db.example/x'], ['postgresql://u:${secret:srv.arg-1}@db.example/x']],
  [
    ['--token', 'a', '--token', 'b'],
    ['--token', '${secret:srv.token}', '--token', '${secret:srv.token-2}'],
  ],
  [
    ['-y', 'server', '--port', '8080'],
    ['-y', 'server', '--port', '8080'],
  ],
])('moves the secrets of the arguments %j', (args, moved) => {
  const entry = { command: 'x', args };
  const found = findInlineSecrets('srv', entry);
  expect(withReferences(entry, found)).toEqual({ command: 'x', args: moved });
});

it('keeps the host of a URL, and moves its password and the keys of its query', () => {
  const entry = { url: 'https://u:pass1@h.example/mcp?api_key=abc&zone=eu' };
  const found = findInlineSecrets('srv', entry);
  expect(withReferences(entry, found)).toEqual({
    url: 'https://u:${secret:srv.url}@h.example/mcp?api_key=${secret:srv.url-2}&zone=eu',
  });
  expect(found.flatMap(({ parts }) => parts.map(({ value }) => value))).toEqual(['pass1', 'abc']);
});

it('moves what the preview does not show, once, and the parts give the value again', () => {
  const entry = {
    url: 'wss://h.example/?token=abc',
    args: ['--password', 'x', 'mysql://a:b@h/d', 'plain'],
    env: { LEVEL: 'debug', ID: 'abcdefghij0123456789', PIN: 1234 },
    headers: { Accept: 'text/html', 'X-Api-Key': 'k' },
  };
  const found = findInlineSecrets('srv', entry);
  const moved = withReferences(entry, found);
  const shown = JSON.stringify(previewValue(entry));
  for (const { parts } of found) for (const { value } of parts) expect(shown).not.toContain(`"${value}"`);
  expect(findInlineSecrets('srv', moved)).toEqual([]);
  const values = new Map(found.flatMap(({ parts }) => parts.map(({ name, value }) => [name, value] as const)));
  const restored = JSON.stringify(moved).replace(/\$\{secret:([^}]+)\}/g, (_, name) => values.get(name) ?? '');
  expect(JSON.parse(restored)).toEqual({ ...entry, env: { ...entry.env, PIN: '1234' } });
});

it('moves a secret after a literal `${`, which the store keeps as it is', () => {
  const entry = { command: 'x', env: { MIX: '$${USER}-ghp_0123456789abcdef' } };
  const found = findInlineSecrets('srv', entry);
  expect(found).toMatchObject([{ parts: [{ name: 'srv.MIX', value: '${USER}-ghp_0123456789abcdef' }] }]);
  expect(withReferences(entry, found).env).toEqual({ MIX: '${secret:srv.MIX}' });
});

it('uses no name that is stored with another value', () => {
  const entry = { command: 'x', env: { TOKEN: 'b' } };
  const nameWith = (stored: readonly (readonly [string, string | undefined])[]) =>
    findInlineSecrets('srv', entry, new Map(stored)).flatMap(({ parts }) => parts.map(({ name }) => name));
  expect(nameWith([['srv.TOKEN', 'a']])).toEqual(['srv.TOKEN-2']);
  expect(nameWith([['srv.TOKEN', undefined]])).toEqual(['srv.TOKEN-2']);
  expect(nameWith([['srv.TOKEN', 'b']])).toEqual(['srv.TOKEN']);
});

it.each([
  ['MIX', '${USER}-ghp_0123456789abcdef', true],
  ['TOKEN', '${TOKEN:-anything}', true],
  ['Authorization', 'Bearer ${A}${B}', false],
  ['BIN', '${HOME}/bin', false],
  ['TOKEN', '${TOKEN}', false],
])('sees in %s=%s whether there is a secret beside the reference', (key, value, expected) => {
  const entry = { url: 'https://h/', headers: { [key]: value } };
  expect(findMixedSecrets(entry)).toEqual(expected ? [`headers.${key}`] : []);
});
