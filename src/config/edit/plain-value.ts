import type { Json } from '../../core/call.ts';
import { redact } from '../read/redact.ts';

/** Parts of the names of variables and headers whose values are never shown. */
const PRIVATE_NAME =
  /pass|secret|token|key|auth|cred|cookie|session|sign|cert|jwt|bearer|salt|seed|private|dsn|webhook|wallet|mnemonic/i;
const PRIVATE_WORD = /(?:^|[_.-])(?:pat|pw|pwd|pin|otp|sid|conn|connection|license|licence)(?:[_.-]|$)/i;
const PASSWORD_BEFORE_HOST = /:[^/\s]*@|:\/\/[^/]*@/;
const PLAIN_TEXT = /^[\p{L}\p{N} .,:;/\\@~+*_()|-]*$/u;
const MAX_CHARS = 200;
const LONGEST_WORD = 24;
const LONGEST_MIXED_WORD = 10;

/** Tells whether the value of a variable or header can be shown: neither its name nor its form is that of a secret. */
export function isPlainValue(name: string, value: Json): boolean {
  if (typeof value === 'boolean' || value === null) return true;
  if (typeof value === 'object' || isPrivateName(name)) return false;
  if (typeof value === 'number') return true;
  // A query may carry a key, and so may the user in a URL, a default, or quoted text.
  if (value.length > MAX_CHARS || !PLAIN_TEXT.test(value)) return false;
  if (PASSWORD_BEFORE_HOST.test(value) || redact(value) !== value) return false;
  return (value.match(/[A-Za-z0-9]+/g) ?? []).every(isPlainWord);
}

// `dbPwd` has the same words as `db_pwd`.
const isPrivateName = (name: string) =>
  PRIVATE_NAME.test(name) || PRIVATE_WORD.test(name.replace(/(?<=[a-z])(?=[A-Z])/g, '_'));

// Generated keys are long words, or shorter ones of letters and digits.
function isPlainWord(word: string): boolean {
  const isMixed = /[A-Za-z]/.test(word) && /\d/.test(word);
  return word.length <= (isMixed ? LONGEST_MIXED_WORD : LONGEST_WORD);
}
