/** Plain where HTTP allows it, otherwise the `=?base64?…?=` form of SEP-2243. */
export function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  const looksEncoded = text.startsWith('=?base64?') && text.endsWith('?=');
  return plain && !looksEncoded ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}

/** What a header stands for; undefined when it is said to be Base64 and is not. */
export function readHeaderValue(value: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  // Node reads on over whatever is no Base64: two who read it differently must not be told apart by that.
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : undefined;
}
