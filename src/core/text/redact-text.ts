/** The mark in place of a secret. */
export const REDACTED = '[REDACTED]';
// The first group of a pattern stays.
const KEPT = `$1${REDACTED}`;

/** Parts of names whose values are secret. The one list for arguments, configuration and running text. */
export const SECRET_WORDS =
  'pass(?:word|wd|phrase)|secret|token|api[-_ ]?key|private[-_ ]?key|authorization|cookie|connection[-_ ]?string';

// Prefixes of the keys of well-known services, and the form of a JWT.
const KEYS = [
  '(?:sk|pk|rk)[-_](?=[\\w-]{0,64}\\d)[\\w-]{8,}',
  '(?:gh[opsur]|github_pat)_\\w{8,}',
  '(?:glpat|xox[abeoprs]|npm|hf|ya29|shp(?:at|ca|pa|ss))[-_.](?=[\\w.-]{0,64}\\d)[\\w.-]{8,}',
  '(?:AKIA|ASIA)[0-9A-Z]{16}',
  'AIza[\\w-]{30,}',
  // The end of a text counts as the last dot: a long one may be cut.
  'eyJ(?<!-eyJ)[\\w-]+\\.[\\w-]+(?:\\.[\\w-]*|$)',
];
const KEY = new RegExp(`\\b()(?:${KEYS.join('|')})`);
const PEM = /()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END[A-Z ]{0,40}-----|$)/;
const WHOLE_KEY = new RegExp(`^(?:(?:${KEYS.join('|')})$|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)`);

// The lengths are bounded: without that, a long run of such words takes quadratic time.
const NAMED_SECRET = new RegExp(`((?:${SECRET_WORDS})[\\w-]{0,64}["']?\\s{0,8}[=:]\\s{0,8}["']?)[^&#\\r\\n]+`, 'i');
// In the line of a command.
const FLAGGED_SECRET = new RegExp(`((?:^|\\s)--?[\\w-]{0,64}(?:${SECRET_WORDS})[\\w-]{0,64}[ \\t]{1,8})(?!-)\\S+`, 'i');
const BEARER = /(\bbearer\s{1,8})\S+/i;
// The end of a text ends a long password: the text may be cut.
const URL_PASSWORD = /(:\/\/[^\s/?#:@]*:)(?:[^\s/?#]*(?=@)|[^\s/?#]{64,}$)/;
// A long user without a password is a token.
const URL_TOKEN = /(:\/\/)[^\s/?#:@]{20,}(?=@)/;
// The form of Go's drivers: `user:password@tcp(host:port)/name`.
const DSN_PASSWORD = /((?<![\w.:-])[\w.-]{1,64}:)[^\s@]{1,256}(?=@(?:tcp6?|unix)\()/;

// `token=x`.
const SHORTEST_CHARS = 7;
const ALL = [PEM, URL_PASSWORD, URL_TOKEN, DSN_PASSWORD, FLAGGED_SECRET, NAMED_SECRET, BEARER, KEY].map(
  (pattern) => new RegExp(pattern, pattern.ignoreCase ? 'gi' : 'g'),
);

/** Replaces the secrets in a text: passwords in URLs, values after secret names, keys of well-known services. */
export function redactText(text: string): string {
  if (!mayHaveSecret(text)) return text;
  return ALL.reduce((shown, pattern) => shown.replace(pattern, KEPT), text);
}

// Most texts have none, and `test` is much faster than `replace`.
function mayHaveSecret(text: string): boolean {
  if (text.length < SHORTEST_CHARS) return false;
  if (text.includes('@') || text.includes('-----BEGIN')) return true;
  if (text.includes('://') && URL_PASSWORD.test(text)) return true;
  if (text.includes('-') && FLAGGED_SECRET.test(text)) return true;
  return NAMED_SECRET.test(text) || BEARER.test(text) || KEY.test(text);
}

// Longer secrets are found also if they are cut.
const MAX_CUT_SECRET_CHARS = 256;

/** Redacts the beginning of a text. Leaves out the end of a longer one, where a secret may be cut and is not found. */
export function redactBeginning(text: string, chars: number, redact = redactText): string {
  const shown = redact(text.slice(0, chars));
  if (text.length <= chars || shown.endsWith(REDACTED)) return shown;
  return shown.slice(0, Math.max(shown.lastIndexOf(' '), shown.length - MAX_CUT_SECRET_CHARS, 0));
}

/** Returns true if the whole text is a key of a well-known service or a private key. */
export const hasKeyFormat = (text: string): boolean => WHOLE_KEY.test(text);
