import { anyCase } from './any-case.ts';
import { SECRET_WORDS } from './redact-text.ts';

// Parts of names: `userPassword` and `tokens` have one. `dsn` counts only at an end.
const SECRET_PART = new RegExp(`${SECRET_WORDS}|credential|access[-_ ]?key|pwd|^dsn|dsn$`, 'i');

// Whole words of names: `pin` is secret, `pinned` and `mapping` are not. `key` alone mostly names an entry, so it stays.
const SECRET_NAME_WORDS = [
  ...['auth', 'bearer', 'jwt', 'csrf', 'xsrf', 'signature', 'sig', 'hmac', 'creds', 'refresh'],
  ...['pin', 'otp', 'totp', 'pass', 'passcode', 'passkey', 'cvv', 'cvc', 'sid', 'sessionid', 'session-id'],
  ...['phpsessid', 'jsessionid', 'sessid'],
  ...['signing-key', 'encryption-key', 'master-key', 'ssh-key', 'session-key', 'shared-key', 'account-key'],
  ...['pincode', 'puk', 'authkey', 'sessionkey', 'mfa-code', 'code-verifier'],
  ...['security-code', 'recovery-code', 'verification-code', 'one-time-code'],
];
const WORDS: ReadonlySet<string> = new Set(SECRET_NAME_WORDS);
const ANY_WORD = new RegExp(SECRET_NAME_WORDS.map((word) => word.replaceAll('-', '[^A-Za-z]{0,3}')).join('|'), 'i');
const MAX_WORDS = 3;
const MAX_NAME_CHARS = 1024;

/** Returns true if every value of this name is secret. */
export const hasSecretPart = (name: string): boolean => SECRET_PART.test(name);

/** Returns true if one of the whole words of a name says that its texts and numbers are secret: `user_pin`, `sessionId`. */
export function hasSecretWord(name: string): boolean {
  // Most names have none, and splitting is slow.
  return ANY_WORD.test(name) && wordsOf(name.slice(0, MAX_NAME_CHARS)).some((_, at, words) => beginsSecret(words, at));
}

function beginsSecret(words: readonly string[], at: number): boolean {
  for (let count = 1; count <= MAX_WORDS; count++) {
    if (WORDS.has(words.slice(at, at + count).join('-'))) return true;
  }
  return false;
}

/** Splits camelCase, snake_case and punctuation: `X-AuthKey` is `x`, `auth`, `key`. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '');

// `sid=x` in a query or a cookie, `sid="x"`, and `"sid": "x"` or `"userPin": 1` in a text of JSON, also inside of a JSON text.
const WORD_AT_END = `(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?:${anyCase(SECRET_NAME_WORDS.join('|')).replaceAll('-', '[-_]?')})`;
const NAME_BEFORE = `((?:${WORD_AT_END}|(?:${anyCase(SECRET_WORDS)})[\\w-]{0,64})(?:=|\\\\{0,8}["']\\s{0,8}:\\s{0,8}))`;
// The end of a text ends a value in quotes: the text may be cut. Nothing follows these, so that each takes linear time.
const VALUES = [
  ...['"', "'"].map((quote) => `(${quote})(?:\\\\[\\s\\S]|[^${quote}\\\\])+`),
  `(\\\\{1,8}["'])[^"']+`,
  '(?<==)[^&#;"\\s]+',
  '-?\\d[\\w.+-]*',
];
const NAMED_IN_TEXT = new RegExp(`${NAME_BEFORE}(?:${VALUES.join('|')})`, 'g');

/** Replaces the values of such words in a text. */
export const redactNamed = (text: string, mark: string): string => text.replace(NAMED_IN_TEXT, `$1$2$3$4${mark}`);
