import type { Field } from '../../core/call/form.ts';

// Each is one word, or two written as one. Compared with each word of a text and each two neighbours joined.
const SECRETS = new Set(
  [
    'password passwd pwd passphrase passcode secret credential token apikey accesskey secretkey privatekey',
    'sshkey signingkey encryptionkey accesstoken authtoken bearertoken sessiontoken otp totp onetime mfacode securitycode authcode',
    'authenticationcode authorizationcode accesscode logincode smscode backupcode devicecode twofactor',
    'verificationcode recoverycode recoverykey recoveryphrase seedphrase mnemonic pin pincode cvv cvc cvn cardnumber',
    'creditcard debitcard ssn socialsecurity',
  ].flatMap((line) => line.split(' ')),
);
// These count only in names. In running text they often mean other things: pin a message, spend a token.
const ONLY_IN_NAMES = new Set(['pin', 'token', 'secret', 'otp', 'onetime', 'mnemonic']);
// Secrets that are numbers. Other words in a number field mean a count, such as a number of tokens.
const NUMBERS = new Set([
  'pin',
  'pincode',
  'otp',
  'totp',
  'onetime',
  'passcode',
  'cvv',
  'cvc',
  'cvn',
  'ssn',
  'cardnumber',
  'creditcard',
]);
// Words that follow a secret in names of its properties: `tokenType`, `passwordPolicy`.
const HARMLESS_NEXT = new Set(['type', 'policy', 'length', 'limit', 'count', 'expiry', 'hint', 'manager']);

// Secrets with a name or id that is no secret: `tokenName`, `apiKeyId`. A password has none.
const NAMED = new Set('token secret credential apikey accesskey secretkey privatekey sshkey signingkey'.split(' '));
const NAMES = new Set(['name', 'id']);
// In running text, a request for a secret has one of these at most 5 words before it.
const DEMANDS = new Set(
  'your paste enter type provide supply give insert copy submit send input share tell need needs require requires'.split(
    ' ',
  ),
);
const REACH = 5;
// A warning has one of these just before a demand: "never share your password". "Do not hesitate to enter" is none.
const NEVER = new Set(['not', 'never', 'dont']);
const WARNING_REACH = 12;

type Counts = (word: string) => boolean;

/** Returns the word by which a field asks for a secret; undefined when none does. */
export function secretWord(field: Field): string | undefined {
  const { kind, name, title = '', description = '', format } = field;
  if (kind !== 'text' && kind !== 'number' && kind !== 'integer') return undefined;
  if (format === 'password') return 'password';
  const counts: Counts = (word) => SECRETS.has(word) && (kind === 'text' || NUMBERS.has(word));
  return inName(name, counts) ?? inTitle(title, counts) ?? inText(description, counts);
}

/** Returns the word by which a message asks for a secret that its fields do not name. */
export function secretInMessage(message: string, fields: readonly Field[]): string | undefined {
  const has = (...kinds: Field['kind'][]) => fields.some(({ kind }) => kinds.includes(kind));
  const counts: Counts = (word) =>
    SECRETS.has(word) && (has('text') || (NUMBERS.has(word) && has('number', 'integer')));
  return inText(message, counts);
}

const inName = (text: string, counts: Counts) =>
  find(text, counts, ({ word, next }) => !HARMLESS_NEXT.has(next) && !(NAMES.has(next) && NAMED.has(word)));

const inTitle = (text: string, counts: Counts) =>
  find(text, counts, ({ word, next }) => !(NAMES.has(next) && NAMED.has(word)));

const inText = (text: string, counts: Counts) =>
  find(text, counts, ({ word, before, longBefore }) => {
    if (longBefore.some((one, at) => NEVER.has(one) && DEMANDS.has(longBefore[at + 1] ?? ''))) return false;
    const isAboutItsName = before.some((one, at) => one === 'name' && ['for', 'of'].includes(before[at + 1] ?? ''));
    return !isAboutItsName && (!ONLY_IN_NAMES.has(word) || before.some((one) => DEMANDS.has(one)));
  });

interface WordContext {
  readonly word: string;
  readonly next: string;
  /** The 5 words before it. */
  readonly before: readonly string[];
  /** The 12 words before it. */
  readonly longBefore: readonly string[];
}

/** Returns the first secret in a text, in the singular, in a context that asks for it. */
function find(text: string, counts: Counts, isMeant: (context: WordContext) => boolean): string | undefined {
  const words = wordsOf(text);
  for (const [at, first] of words.entries()) {
    const longBefore = words.slice(Math.max(0, at - WARNING_REACH), at);
    const before = longBefore.slice(-REACH);
    const [second = '', third = ''] = words.slice(at + 1, at + 3);
    const two = singular(first + second, counts);
    if (two !== undefined && second !== '' && isMeant({ word: two, next: third, before, longBefore })) return two;
    const one = singular(first, counts);
    if (one !== undefined && isMeant({ word: one, next: second, before, longBefore })) return one;
  }
  return undefined;
}

const singular = (word: string, counts: Counts): string | undefined =>
  [word, word.replace(/s$/, '')].find((one) => counts(one));

/** Splits a text into words: `newAPIKey`, `new_api-key` and `New API key` have the same. */
function wordsOf(text: string): readonly string[] {
  return text
    .normalize('NFKC')
    .replace(/['’]/g, '')
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}
