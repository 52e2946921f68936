/** Encodes a header value: verbatim if HTTP allows it, else in the `=?base64?…?=` form of SEP-2243. */
export function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  const looksEncoded = text.startsWith('=?base64?') && text.endsWith('?=');
  return plain && !looksEncoded ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}

/** Decodes a header value. Returns undefined for a `=?base64?…?=` form whose content is not Base64. */
export function readHeaderValue(value: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  // Node skips characters that are not Base64. Another reader may not, so only the canonical spelling counts.
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : undefined;
}
