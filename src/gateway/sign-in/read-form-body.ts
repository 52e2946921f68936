import type { IncomingMessage } from 'node:http';

const MAX_BYTES = 16 * 1024;
const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i;

/** Reads the form of a POST; undefined if it is larger than 16 kB or of another type. */
export async function readFormBody(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (!FORM_TYPE.test(request.headers['content-type'] ?? '')) return undefined;
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_BYTES) return undefined;
  }
  return new URLSearchParams(text);
}
