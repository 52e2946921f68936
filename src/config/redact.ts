import type { Json, JsonObject } from '../core/call.ts';

export const REDACTED = '[REDACTED]';

const SECRET_WORDS = 'password|secret|token|api[-_]?key|authorization|private[-_]?key';
const SECRET_NAME = new RegExp(SECRET_WORDS, 'i');
const SECRET_FLAG = new RegExp(`^--?[\\w-]*(?:${SECRET_WORDS})[\\w-]*$`, 'i');
const NAMED_SECRET = new RegExp(`([\\w-]*(?:${SECRET_WORDS})[\\w-]*=)[^&\\s#]+`, 'gi');
const URL_PASSWORD = /(:\/\/[^\s/?#:@]*:)[^\s/?#]*(?=@)/g;

/** Whether what stands under this name is nobody's business. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || name === 'env' || name === 'headers';
}

/** A value fit to be shown: what stands under a secret's name, in a URL or after a flag, is gone. */
export function redact(value: Json): Json {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((item, index) => redactItem(item, value[index - 1]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [
      key,
      isSecretName(key) ? REDACTED : redact(item ?? null),
    ]),
  );
}

function redactItem(item: Json, before: Json | undefined): Json {
  const named = typeof before === 'string' && SECRET_FLAG.test(before);
  return named && typeof item === 'string' && !item.startsWith('-') ? REDACTED : redact(item);
}

function redactText(text: string): string {
  return text.replace(URL_PASSWORD, `$1${REDACTED}`).replace(NAMED_SECRET, `$1${REDACTED}`);
}
