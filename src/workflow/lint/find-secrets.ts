import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { hasKeyFormat, redactText, SECRET_WORDS } from '../../core/text/redact-text.ts';
import type { Mapping } from '../definition/canonical.ts';

const SECRET_NAME = new RegExp(SECRET_WORDS, 'i');

/** A literal that looks like a secret. Its text is not in it. */
export interface SecretLiteral {
  readonly node: Mapping;
  readonly field: string;
  /** True if its format is that of a key; else the name of its field says so. */
  readonly isCertain: boolean;
}

/** Finds literals of a mapping that look like secrets: by their format, or by the name of their field. */
export function findSecrets(mapping: Mapping, field = 'the value'): readonly SecretLiteral[] {
  if ('object' in mapping) return Object.entries(mapping.object).flatMap(([key, item]) => findSecrets(item, key));
  if ('list' in mapping) return mapping.list.flatMap((item) => findSecrets(item, field));
  if ('template' in mapping) {
    const text = mapping.template.map((part) => (typeof part === 'string' ? part : '')).join('');
    return hasSecret(text) ? [{ node: mapping, field, isCertain: true }] : [];
  }
  return 'value' in mapping ? inValue(mapping.value, field).map((found) => ({ ...found, node: mapping })) : [];
}

function inValue(value: Json, field: string): readonly Omit<SecretLiteral, 'node'>[] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap((item) => inValue(item, field));
  if (isObject(value)) return Object.entries(value).flatMap(([key, item]) => inValue(item ?? null, key));
  if (typeof value !== 'string' || value === '') return [];
  if (hasSecret(value)) return [{ field, isCertain: true }];
  return SECRET_NAME.test(field) ? [{ field, isCertain: false }] : [];
}

const hasSecret = (text: string): boolean => hasKeyFormat(text) || redactText(text) !== text;
