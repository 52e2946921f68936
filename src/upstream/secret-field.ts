import type { Field } from '../core/form.ts';

// Each is one word, or two that are often written as one; compared with each word of a text and each two together.
const SECRETS = new Set(
  [
    'password passwd pwd passphrase passcode secret secrets credential credentials token apikey accesskey secretkey privatekey',
    'sshkey signingkey encryptionkey accesstoken authtoken bearertoken sessiontoken otp totp onetime mfacode securitycode',
    'verificationcode recoverycode recoverykey recoveryphrase seedphrase mnemonic pin pincode cvv cvc cvn cardnumber',
    'creditcard debitcard ssn socialsecurity',
  ].flatMap((line) => line.split(' ')),
);
// In running text these mean other things too often: pin a message, spend a token, a well-kept secret.
const ONLY_IN_NAMES = new Set(['pin', 'token', 'secret', 'secrets', 'otp', 'onetime', 'mnemonic']);
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
// A word for a kind or a property of a secret, not for the secret: `tokenType`, `password policy`.
const HARMLESS_NEXT = new Set([
  'type',
  'name',
  'id',
  'policy',
  'length',
  'limit',
  'count',
  'expiry',
  'hint',
  'manager',
]);

/** The word by which a field looks as if it asked for a secret; undefined when none does. */
export function secretWord(field: Field): string | undefined {
  const { kind, name, title = '', description = '', format } = field;
  if (kind !== 'text' && kind !== 'number' && kind !== 'integer') return undefined;
  if (format === 'password') return 'password';
  const counts = (word: string) => SECRETS.has(word) && (kind === 'text' || NUMBERS.has(word));
  return (
    wordIn(name, counts) ??
    wordIn(title, counts) ??
    wordIn(description, (word) => counts(word) && !ONLY_IN_NAMES.has(word))
  );
}

function wordIn(text: string, counts: (word: string) => boolean): string | undefined {
  const words = wordsOf(text);
  for (const [at, word] of words.entries()) {
    const next = words[at + 1] ?? '';
    if (counts(word + next)) return word + next;
    if (counts(word) && !HARMLESS_NEXT.has(next)) return word;
  }
  return undefined;
}

/** `newAPIKey`, `new_api-key` and `New API key` are all the same words. */
function wordsOf(text: string): readonly string[] {
  return text
    .normalize('NFKC')
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}
