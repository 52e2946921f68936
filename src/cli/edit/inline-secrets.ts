import { isSecretName } from '../../config/read/redact.ts';
import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { hasKeyFormat } from '../../core/text/redact-text.ts';

/** A value in an entry that belongs in the secret store. */
export interface InlineSecret {
  readonly field: 'env' | 'headers' | 'oauth';
  readonly key: string;
  /** Name in the secret store. */
  readonly name: string;
  readonly value: string;
  /** The reference that replaces it in the entry. */
  readonly reference: string;
}

const SCHEME = /^(?:(?:Bearer|Basic|Token|ApiKey) +)(?=\S)/i;

/** Finds values that look like secrets by name or format. References with `${` are skipped. */
export function findInlineSecrets(server: string, entry: JsonObject): readonly InlineSecret[] {
  return (['env', 'headers', 'oauth'] as const).flatMap((field) => {
    const values = entry[field];
    if (!isObject(values)) return [];
    return Object.entries(values).flatMap(([key, value]): readonly InlineSecret[] => {
      if (typeof value !== 'string' || value === '' || value.includes('${')) return [];
      const scheme = field === 'headers' ? (SCHEME.exec(value)?.[0] ?? '') : '';
      const bare = value.slice(scheme.length);
      const looksSecret = isSecretName(key) || hasKeyFormat(bare);
      if (!looksSecret) return [];
      const name = `${server}.${key}`.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 128);
      return [{ field, key, name, value: bare, reference: `${scheme}\${secret:${name}}` }];
    });
  });
}

/** Returns the entry with references in place of the secrets. */
export function withReferences(entry: JsonObject, secrets: readonly InlineSecret[]): JsonObject {
  const ofField = Map.groupBy(secrets, ({ field }) => field);
  const fields = [...ofField].map(([field, ones]) => {
    const values = entry[field];
    const references = Object.fromEntries(ones.map(({ key, reference }) => [key, reference]));
    return [field, { ...(isObject(values) ? values : {}), ...references }] as const;
  });
  return { ...entry, ...Object.fromEntries(fields) };
}
