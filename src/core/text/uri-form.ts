// A dot segment in a path, in a query value or in an opaque URI, plain or percent-encoded.
const DOT_SEGMENT = /(?:^|[/\\:=&?#,;]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\?#&,;]|%2f|%5c|$)/i;
const NOT_SEPARATORS = /[^/\\%?#:]/g;
const SPECIAL = /^(?:file|https?|wss?|ftp):/i;

/**
 * Returns the reason why servers may read a URI as another one; undefined for the normal form. Rules compare text, so
 * an ambiguous URI could pass a rule for one resource and be read as another.
 */
export function whyAmbiguous(uri: string): string | undefined {
  const plain = decoded(uri);
  if (plain === undefined) return 'its percent-encoding is not UTF-8';
  const folded = plain.normalize('NFKC');
  if (/^\s|\s$/.test(uri) || /\p{Cc}/u.test(plain)) return 'it has a control character, or begins or ends with a space';
  if (/\\|%5c/i.test(uri)) return 'it has a backslash';
  if (DOT_SEGMENT.test(uri) || DOT_SEGMENT.test(folded)) return 'it has the segment “.” or “..”';
  if (/%2f/i.test(uri)) return 'it has an encoded slash';
  if (/%25[0-9a-f]{2}/i.test(uri)) return 'it is percent-encoded twice';
  if (folded.replace(NOT_SEPARATORS, '') !== plain.replace(NOT_SEPARATORS, '')) {
    return 'it has characters that look like “/”, “:”, “?”, “#” or “%”';
  }
  return hasNormalStart(uri) ? undefined : 'its scheme, host, port or user is not in normal form';
}

/** Returns true if the scheme is lower-case and, for schemes that URL parsers know, host and port are normal. */
function hasNormalStart(uri: string): boolean {
  if (!SPECIAL.test(uri)) return !/^[a-z0-9+.-]*[A-Z][A-Za-z0-9+.-]*:/.test(uri);
  if (!URL.canParse(uri)) return false;
  const { protocol, host } = new URL(uri);
  const start = `${protocol}//${host}`;
  return !host.endsWith('.') && uri.startsWith(start) && /^(?:[/?#]|$)/.test(uri.slice(start.length));
}

/**
 * Folds a URI, or a pattern of URIs, for rules that restrict. Spellings that some server or file system treats as one
 * fold to one text: encoded or not, upper or lower case, with doubled or trailing slashes.
 */
export function foldUri(text: string): string {
  const plain = (decoded(text) ?? text)
    .normalize('NFKC')
    .replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase()
    .replace(/[/\\]+/g, '/')
    .trim();
  let end = plain.length;
  while (end > 0 && '/. '.includes(plain[end - 1] as string)) end--;
  return plain.slice(0, end);
}

/**
 * The folded forms of a URI: whole, without fragment, without query, without path parameters, without empty parameters of
 * the query. Some servers decode a URI before they split it, so the decoded text has these forms, too. Many servers of
 * files ignore the host of a `file:` URI, and take a path for one: both have the form without a host.
 */
export function foldedForms(uri: string): readonly string[] {
  const parts = new Set([uri, decoded(uri) ?? uri].flatMap(partsOf)); // Most URIs have one part alone, folded once.
  const forms = [...parts].map(foldUri);
  const files = [...parts].flatMap((part) => (/^(?:file:)?\//i.test(part) ? [foldUri(withoutHost(part))] : []));
  return [...new Set([...forms, ...files])];
}

const withoutHost = (uri: string) => `file://${uri.replace(/^file:(?:\/\/[^/]*)?/i, '')}`;

function partsOf(uri: string): readonly string[] {
  const [whole = ''] = uri.split('#', 1);
  const [path = ''] = uri.split(/[?#]/, 1);
  const [start = ''] = uri.split(/[;?#]/, 1);
  const query = whole
    .slice(path.length)
    .replace(/([?&])&+/g, '$1')
    .replace(/&$/, '');
  return [uri, whole, path, start, path.replace(/;[^/]*/g, ''), `${path}${query}`];
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
