import type { Field } from '../../core/call/form.ts';

// Each is one word, or two that are often written as one; compared with each word of a text and each two together.
const SECRETS = new Set(
  [
    'password passwd pwd passphrase passcode secret credential token apikey accesskey secretkey privatekey',
    'sshkey signingkey encryptionkey accesstoken authtoken bearertoken sessiontoken otp totp onetime mfacode securitycode authcode',
    'authenticationcode authorizationcode accesscode logincode smscode backupcode devicecode twofactor',
    'verificationcode recoverycode recoverykey recoveryphrase seedphrase mnemonic pin pincode cvv cvc cvn cardnumber',
    'creditcard debitcard ssn socialsecurity',
  ].flatMap((line) => line.split(' ')),
);
// In running text these mean other things too often: pin a message, spend a token, a well-kept secret.
const ONLY_IN_NAMES = new Set(['pin', 'token', 'secret', 'otp', 'onetime', 'mnemonic']);
// What is a secret though it is a number: the rest is a count of tokens, or the like.
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
// In names: a word for a kind or a property of a secret, not for the secret: `tokenType`, `passwordPolicy`.
const HARMLESS_NEXT = new Set(['type', 'policy', 'length', 'limit', 'count', 'expiry', 'hint', 'manager']);

// These have names and numbers of their own, which are no secrets; a password has not.
const NAMED = new Set('token secret credential apikey accesskey secretkey privatekey sshkey signingkey'.split(' '));
const NAMES = new Set(['name', 'id']);
// In running text, who wants a thing says so before it.
const DEMANDS = new Set(
  'your paste enter type provide supply give insert copy submit send input share tell need needs require requires'.split(
    ' ',
  ),
);
const REACH = 5;
// Who warns against giving a thing does not ask for it. "Do not hesitate to enter" is no warning.
const NEVER = new Set(['not', 'never', 'dont']);
const WARNING_REACH = 12;

type Counts = (word: string) => boolean;

/** The word by which a field looks as if it asked for a secret; undefined when none does. */
export function secretWord(field: Field): string | undefined {
  const { kind, name, title = '', description = '', format } = field;
  if (kind !== 'text' && kind !== 'number' && kind !== 'integer') return undefined;
  if (format === 'password') return 'password';
  const counts: Counts = (word) => SECRETS.has(word) && (kind === 'text' || NUMBERS.has(word));
  return inName(name, counts) ?? inTitle(title, counts) ?? inText(description, counts);
}

/** The word by which a message asks for a secret that the fields below it do not name. */
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

interface Place {
  readonly word: string;
  readonly next: string;
  /** The words just before it. */
  readonly before: readonly string[];
  readonly longBefore: readonly string[];
}

/** The first secret in a text, in the singular, at a place where it is meant. */
function find(text: string, counts: Counts, isMeant: (place: Place) => boolean): string | undefined {
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

/** `newAPIKey`, `new_api-key` and `New API key` are all the same words. */
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
