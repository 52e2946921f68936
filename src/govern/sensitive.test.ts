import { expect } from 'vitest';
import { within } from '../../test/limits.ts';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { addedWords, sensitiveIn, sensitiveWord } from './sensitive.ts';

const found = (input: JsonObject, valuesToo = true) => sensitiveWord(input, valuesToo) !== undefined;

const YES = [
  'apiKey',
  'api_key',
  'API_KEY',
  'APIKey',
  'private key',
  'accessKeyId',
  'signing-key2',
  'signing-key',
  'private_key',
  'accessKey',
  'encryptionKey',
  'my-secret',
  'authToken',
  'user.password',
];
const YES_TOO = [
  'deleteAll',
  'DropTable',
  'x:destroy',
  'TOKENName',
  'accessTokenTTL',
  'PASSWORD',
  'dbCredential',
  '_token_',
];
const NO = ['monkey', 'keyboard', 'MONKEY', 'tokens', 'tokenize', 'passwords', 'undeleted', 'airdrop', 'dropped', ''];
const NO_EITHER = ['secretary', 'keypad', 'hotkeys', 'destroyer', 'name', 'monKEYs', 'constructor', '__proto__'];
const NO_QUALIFIER = ['key', 'KEY', 'fileKey', 'cacheKey', 'primary_key', 'apiMonkey'];

for (const name of [...YES, ...YES_TOO]) {
  verifies('G6', `an argument named ${name} is sensitive`, () => {
    expect(found({ [name]: 1 }, false)).toBe(true);
    expect(found({ text: `please ${name} now` })).toBe(true);
  });
}
for (const name of [...NO, ...NO_EITHER, ...NO_QUALIFIER]) {
  verifies('G6', `an argument named “${name}” is not sensitive`, () => {
    expect(found(Object.fromEntries([[name, name]]))).toBe(false);
  });
}

verifies('G6', 'names count for every tool, values only for one that may write', () => {
  expect([found({ sql: 'DROP TABLE x' }, true), found({ sql: 'DROP TABLE x' }, false)]).toEqual([true, false]);
  expect([found({ drop: 1 }, true), found({ drop: 1 }, false)]).toEqual([true, true]);
});

verifies('G6', 'finds nested strings and ignores other values', () => {
  expect(found({ a: [{ b: [[{ apiKey: null }]] }] }, false)).toBe(true);
  expect(found({ a: [1, null, true, ['x', ['delete it']]] })).toBe(true);
  expect(found({ a: [1, null, true, ['x', ['keep it']]] })).toBe(false);
});

verifies('G6', 'finds a word after a very long text in time', async () => {
  await within(5000, () => {
    expect(found({ text: `${'monkey '.repeat(300_000)} delete` })).toBe(true);
    expect(found({ text: 'A'.repeat(3_000_000) })).toBe(false);
  });
});

verifies('G6', 'the reason names the argument and the word, never the value', () => {
  expect(sensitiveWord({ dbPassword: 'hunter2' }, true)).toBe('dbPassword is named after “password”');
  expect(sensitiveWord({ text: 'my secret is hunter2' }, true)).toBe('a value contains “secret”');
});

verifies('G6', 'routine keys of `_meta` are not sensitive: token and key count only with a qualifier there', () => {
  const why = (name: string) => sensitiveIn({ input: {}, meta: { [name]: name } }, true);
  for (const name of ['com.example/idempotencyKey', 'x/cacheKey', 'n8n/sessionKey', 'tokenBudget', 'x/token']) {
    expect([name, why(name)]).toEqual([name, undefined]);
  }
  for (const name of ['x/apiKey', 'accessToken', 'x/password', 'my-secret', 'credential', 'drop', 'x/deleteAll']) {
    expect([name, why(name)]).toEqual([name, expect.stringContaining('Its `_meta` looks sensitive')]);
  }
  expect(sensitiveIn({ input: {}, meta: { a: [{ tokenBudget: 'a token' }] } }, true)).toBeUndefined();
  expect(sensitiveIn({ input: {}, extraParams: { tokenBudget: 1 } }, true)).toContain('unknown parameters');
});

verifies('G6', 'finds added words without a qualifier, as whole words, in every part of a call', () => {
  const why = (words: readonly string[], sent: Parameters<typeof sensitiveIn>[0], valuesToo = true) =>
    sensitiveIn(sent, valuesToo, addedWords(words));
  for (const name of ['key', 'KEY', 'fileKey', 'cache_key', 'x.key']) {
    expect([name, why(['key'], { input: { [name]: 1 } })]).toEqual([name, expect.stringContaining('“key”')]);
  }
  expect(why(['Key'], { input: { monkey: 'keyboard hotkeys' } })).toBeUndefined();
  expect(why(['iban'], { input: { text: 'my IBAN is' } })).toContain('a value contains “iban”');
  expect(why(['iban'], { input: { text: 'my IBAN is' } }, false)).toBeUndefined();
  expect(why(['iban'], { input: {}, meta: { iban: 1 } })).toContain('`_meta`');
  expect(why(['iban'], { input: {}, extraParams: { iban: 1 } })).toContain('unknown parameters');
  expect(addedWords([])).toBeUndefined();
});

verifies('G6', 'finds an added word beside a longer one, and words with letters of any language', () => {
  const why = (words: readonly string[], name: string) =>
    sensitiveIn({ input: { [name]: 1 } }, true, addedWords(words));
  expect(why(['cardNumber', 'card'], 'cardNumbers')).toContain('“card”');
  expect(why(['clé', 'schlüssel'], 'dossier_clé')).toContain('“clé”');
  expect(why(['clé', 'schlüssel'], 'HausSchlüssel')).toContain('“schlüssel”');
  expect(why(['clé'], 'clément')).toBeUndefined();
  expect(why(['lüssel', 'schl'], 'Schlüssel')).toBeUndefined();
});
