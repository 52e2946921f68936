import { readForm } from '../../core/call/form.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { isLoopbackHost } from '../../core/text/loopback-host.ts';
import { secretInMessage, secretWord } from './secret-field.ts';

const MAX_MESSAGE_CHARS = 10_000;
const MAX_URL_CHARS = 8192;

/** Returns why an elicitation must not reach the user; undefined when it may. */
export function findElicitationProblem({
  mode = 'form',
  message,
  url,
  requestedSchema,
}: JsonObject): string | undefined {
  if (typeof message !== 'string') return 'it has no message';
  if (message.length > MAX_MESSAGE_CHARS) return `its message is longer than ${MAX_MESSAGE_CHARS} characters`;
  if (mode === 'url') return problemOfUrl(url);
  return mode === 'form' ? problemOfForm(message, requestedSchema) : `its mode ${String(mode)} is not known`;
}

/**
 * Returns the parameters of an accepted elicitation as they are sent on. The URL is written as it was parsed here:
 * clients parse URLs differently. Keys of the other mode are left out.
 */
export function checkedElicitation({ url, requestedSchema, ...rest }: JsonObject): JsonObject {
  if (rest.mode === 'url') return { ...rest, url: new URL(String(url)).href };
  return requestedSchema === undefined ? rest : { ...rest, requestedSchema };
}

/** Returns the data of a -32042 error with only the acceptable URLs. */
export function checkedUrls(data: Json | undefined): Json | undefined {
  if (!isObject(data) || !Array.isArray(data.elicitations)) return data;
  const urls = data.elicitations.filter(isObject).map((one): JsonObject => ({ ...one, mode: 'url' }));
  const safe = urls.filter((one) => findElicitationProblem(one) === undefined).map(checkedElicitation);
  return { ...data, elicitations: safe };
}

function problemOfForm(message: string, schema: unknown): string | undefined {
  const fields = readForm(schema);
  if (typeof fields === 'string') return fields;
  for (const field of fields) {
    const word = secretWord(field);
    if (word) return `its field ${field.name} asks for a secret (${word}), and secrets are not given through forms`;
  }
  const word = secretInMessage(message, fields);
  return word && `its message asks for a secret (${word}), and secrets are not given through forms`;
}

function problemOfUrl(url: unknown): string | undefined {
  if (typeof url !== 'string' || url.length > MAX_URL_CHARS || !URL.canParse(url)) return 'it has no usable URL';
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== '' || password !== '') return 'its URL carries a user name'; // `https://bank.com@evil.com` looks like another host.
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname));
  return isSafe ? undefined : 'its URL has to begin with https://';
}
