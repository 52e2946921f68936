import type { Json, JsonObject } from '../../core/call.ts';
import { REDACTED, redactText, SECRET_WORDS } from '../../core/text/redact-text.ts';

const SECRET_NAME = new RegExp(SECRET_WORDS, 'i');
const SECRET_FLAG = new RegExp(`^--?[\\w-]{0,64}(?:${SECRET_WORDS})[\\w-]{0,64}$`, 'i');

// Of a connection of `builtins.database` the whole URL is hidden: a password in it may have any form.
const DATABASE_TYPES: ReadonlySet<unknown> = new Set(['postgres', 'mysql', 'sqlite']);
const HIDDEN_OF_DATABASE: ReadonlySet<string> = new Set(['url', 'username']);

/** Tells whether values of this name are secret: they are never shown. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || name === 'env' || name === 'headers';
}

/** Replaces secrets in a value by `[REDACTED]`: under a secret name, in a URL, after a flag, of a database. */
export function redact(value: Json): Json {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((item, index) => redactItem(item, value[index - 1]));
  if (typeof value !== 'object' || value === null) return value;
  const isConnection = DATABASE_TYPES.has((value as JsonObject).type);
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [
      key,
      isSecretName(key) || (isConnection && HIDDEN_OF_DATABASE.has(key)) ? REDACTED : redact(item ?? null),
    ]),
  );
}

/**
 * Replaces in an expanded value each string that was written with `${secret:…}` by `[REDACTED]`. In a `headersHelper`
 * every reference counts: a variable there is most likely a credential.
 */
export function withoutSecrets(value: Json, written: Json | undefined, reference = '${secret:'): Json {
  if (typeof written === 'string' && written.includes(reference)) return REDACTED;
  if (typeof value !== 'object' || value === null || typeof written !== 'object' || written === null) return value;
  const at = (key: string) => (written as JsonObject)[key];
  const members = Object.entries(value).map(([key, item]) => {
    const hidden = key === 'headersHelper' ? '${' : reference;
    return [key, withoutSecrets(item as Json, at(key), hidden)] as const;
  });
  return Array.isArray(value) ? members.map(([, item]) => item) : Object.fromEntries(members);
}

function redactItem(item: Json, before: Json | undefined): Json {
  const named = typeof before === 'string' && SECRET_FLAG.test(before);
  return named && typeof item === 'string' && !item.startsWith('-') ? REDACTED : redact(item);
}
