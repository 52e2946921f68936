import { previewValue } from '../../config/edit/preview.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { REDACTED } from '../../core/text/redact-text.ts';

/** A value in an entry that belongs in the secret store: `previewValue` does not show it, or not all of it. */
export interface InlineSecret {
  readonly path: readonly [field: Field, key?: string | number];
  /** The value for users: `env.TOKEN`, `--token`, `url`. */
  readonly key: string;
  /** Its secret parts. */
  readonly parts: readonly SecretPart[];
  /** The text that replaces it in the entry. */
  readonly reference: string;
}

export interface SecretPart {
  /** Name in the secret store. */
  readonly name: string;
  readonly value: string;
}

const FIELDS = ['env', 'headers', 'oauth', 'url', 'args'] as const;
type Field = (typeof FIELDS)[number];

interface Leaf extends Pick<InlineSecret, 'path' | 'key'> {
  /** The name in the secret store, without that of the server. */
  readonly name: string;
  readonly value: string;
  readonly shown: string;
}

const SCHEME = /^(?:(?:Bearer|Basic|Token|ApiKey) +)(?=\S)/i;
const FLAG = /^--?([A-Za-z][\w-]*)$/;
const ASSIGNED = /^-{0,2}([A-Za-z][\w.-]*)=/;

// A reference without a default: its text in the file is no secret.
const REFERENCE = /(?<!\$)\$\{(?:env:|secret:)?[\w.-]+\}/g;
const hasReference = (value: string) => value.replaceAll('$${', '').includes('${');
const unescaped = (value: string) => value.replaceAll('$${', '${');

/** The secrets in the store that a new one must not replace; undefined for one that cannot be read. */
export type StoredSecrets = ReadonlyMap<string, string | undefined>;

/**
 * Finds the values that are shown as `[REDACTED]`: exactly those are moved. Values with references are skipped, because the
 * secret store does not expand them. A name that is stored with another value is not used.
 */
export function findInlineSecrets(
  server: string,
  entry: JsonObject,
  stored: StoredSecrets = new Map(),
): readonly InlineSecret[] {
  const taken = new Set<string>();
  return hiddenLeaves(entry).flatMap((leaf) => {
    if (hasReference(leaf.value)) return [];
    const nameOf = (value: string) => uniqueName(`${server}.${leaf.name}`, value, { taken, stored });
    return [toSecret(leaf, nameOf)];
  });
}

/** Returns the keys of values that have a secret beside a reference or as its default. They cannot be moved. */
export function findMixedSecrets(entry: JsonObject): readonly string[] {
  const written = new Map(allLeaves(entry).map(({ path, value }) => [path.join('.'), value]));
  const literal = JSON.parse(JSON.stringify(entry).replace(REFERENCE, '')) as JsonObject;
  return hiddenLeaves(literal)
    .filter(({ path, value }) => hasReference(written.get(path.join('.')) ?? '') && hasText(value))
    .map(({ key }) => key);
}

const hasText = (value: string) => /[A-Za-z0-9]/.test(value.replace(/^(?:Bearer|Basic|Token|ApiKey)\b/i, ''));

function allLeaves(entry: JsonObject): readonly Leaf[] {
  const shown = previewValue(entry) as JsonObject;
  return FIELDS.flatMap((field) => leavesOf(field, entry[field], shown[field]));
}

const hiddenLeaves = (entry: JsonObject) =>
  allLeaves(entry).filter(({ value, shown }) => value !== '' && value !== shown);

/** Returns the entry with references in place of the secrets. */
export function withReferences(entry: JsonObject, secrets: readonly InlineSecret[]): JsonObject {
  const fields = [...Map.groupBy(secrets, ({ path }) => path[0])].map(([field, ones]) => {
    const references = new Map(ones.map(({ path: [, key = field], reference }) => [key, reference]));
    return [field, replaced(field, entry[field], references)] as const;
  });
  return { ...entry, ...Object.fromEntries(fields) };
}

function replaced(field: Field, value: Json | undefined, references: ReadonlyMap<string | number, string>): Json {
  if (Array.isArray(value)) return value.map((item: Json, at) => references.get(at) ?? item);
  return isObject(value) ? { ...value, ...Object.fromEntries(references) } : (references.get(field) ?? null);
}

function leavesOf(field: Field, value: Json | undefined, shown: Json | undefined): readonly Leaf[] {
  if (field === 'url') return leaf({ path: [field], key: field, name: field }, value, shown);
  if (Array.isArray(value)) {
    const shownItems: readonly Json[] = Array.isArray(shown) ? shown : [];
    return value.flatMap((item: Json, at: number) => {
      const named = argumentName(item, value[at - 1]);
      const key = named ?? `args[${at}]`;
      return leaf({ path: [field, at], key, name: named ?? `arg-${at + 1}` }, item, shownItems[at]);
    });
  }
  const shownValues = isObject(shown) ? shown : {};
  return Object.entries(isObject(value) ? value : {}).flatMap(([key, one]) =>
    leaf({ path: [field, key], key: `${field}.${key}`, name: key }, one, shownValues[key]),
  );
}

function leaf(at: Pick<Leaf, 'path' | 'key' | 'name'>, value: Json | undefined, shown: Json | undefined): Leaf[] {
  if (typeof value !== 'string' && typeof value !== 'number') return [];
  return [{ ...at, value: String(value), shown: String(shown) }];
}

/** Returns the name of an argument's value: that of its flag, or the part before its `=`. */
function argumentName(item: Json, before: Json | undefined): string | undefined {
  const [, assigned] = typeof item === 'string' ? (ASSIGNED.exec(item) ?? []) : [];
  if (assigned !== undefined) return assigned;
  return typeof before === 'string' ? FLAG.exec(before)?.[1] : undefined;
}

/** Replaces the hidden parts of a value. The parts that are shown, such as the host of a URL, stay readable in the file. */
function toSecret({ path, key, value, shown }: Leaf, nameOf: (value: string) => string): InlineSecret {
  const scheme = path[0] === 'headers' ? (SCHEME.exec(value)?.[0] ?? '') : '';
  const segments = shown === REDACTED ? [scheme, ''] : shown.split(REDACTED);
  const values = hiddenBetween(segments, value) ?? [value];
  const kept = values.length === segments.length - 1 ? segments : ['', ''];
  const parts = values.map(unescaped).map((one) => ({ name: nameOf(one), value: one }));
  const reference = parts.reduce((text, { name }, at) => `${text}\${secret:${name}}${kept[at + 1]}`, kept[0] ?? '');
  return { path, key, parts, reference };
}

/** Returns the texts between these segments of a value; undefined if it does not consist of them. */
function hiddenBetween(segments: readonly string[], value: string): readonly string[] | undefined {
  const hidden: string[] = [];
  let at = segments[0]?.length ?? 0;
  if (!value.startsWith(segments[0] ?? '') || segments.length < 2) return undefined;
  for (const [index, segment] of segments.entries()) {
    if (index === 0) continue;
    const isLast = index === segments.length - 1;
    const end = isLast ? value.length - segment.length : value.indexOf(segment, at + 1);
    if (end <= at || !value.startsWith(segment, end)) return undefined;
    hidden.push(value.slice(at, end));
    at = end + segment.length;
  }
  return hidden;
}

interface UsedNames {
  /** The names of other secrets of the entry. */
  readonly taken: Set<string>;
  readonly stored: StoredSecrets;
}

/** Returns a name that no other secret of the entry has, and none in the store with another value. */
function uniqueName(wanted: string, value: string, { taken, stored }: UsedNames): string {
  const name = secretName(wanted);
  for (let count = 1; ; count++) {
    const one = count === 1 ? name : `${name}-${count}`;
    if (taken.has(one) || (stored.has(one) && stored.get(one) !== value)) continue;
    taken.add(one);
    return one;
  }
}

/** Replaces the characters that the name of a secret cannot have. */
export const secretName = (wanted: string): string => wanted.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 120);
