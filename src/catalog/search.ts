import type { Target } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Hit } from '../core/records/listing.ts';

export interface SearchOptions {
  readonly text: string;
  readonly limit: number;
  /** Returns the names that users may write for a target. */
  readonly spellings: (target: Target) => readonly string[];
}

// The weight of a word by the field that it stands in.
const IN_NAME = 8;
const IN_TITLE = 4;
const IN_DESCRIPTION = 2;
const IN_ARGUMENTS = 1;
// The weight of a prefix match: `issue` also finds `issues`, but after `issue`.
const IN_PART = 0.5;
const EXACT_WORDS = 1_000;
const EXACT_NAME = 1_000_000;

const MAX_TEXT_CHARS = 400;
const MAX_WORDS = 20;
const MAX_FIELD_CHARS = 2048;
// Each query compares its words with all words of all tools.
const MAX_FIELD_WORDS = 200;

/**
 * Returns the best matches of a text: exact names first, then words of the name, then of the description. A rare word
 * counts more than a common one. The result is deterministic.
 */
export function searchTargets(targets: readonly Target[], { text, limit, spellings }: SearchOptions): readonly Hit[] {
  const query = text.trim().slice(0, MAX_TEXT_CHARS).toLowerCase();
  const words = [...new Set(wordsOf(text.slice(0, MAX_TEXT_CHARS)))].slice(0, MAX_WORDS);
  if (query === '') return [];
  const read = targets.map((target) => ({ target, weights: weightsOf(target, words) }));
  const rarity = words.map((_, at) => {
    const having = read.filter(({ weights }) => (weights[at]?.weight ?? 0) > 0).length;
    return Math.log(1 + targets.length / (1 + having));
  });
  const hits = read.flatMap(({ target, weights }): Hit[] => {
    const score = weights.reduce((sum, { weight }, at) => sum + weight * (rarity[at] ?? 0), 0);
    if (spellings(target).some((name) => name.toLowerCase() === query)) {
      return [{ target, score: EXACT_NAME + score, reason: 'exact name' }];
    }
    if (score === 0) return [];
    const reason = weights.some(({ named }) => named) ? 'name' : 'description';
    return [{ target, score: isNamedExactly(target, words) ? EXACT_WORDS + score : score, reason }];
  });
  return hits.sort((a, b) => b.score - a.score || (a.target.publicName < b.target.publicName ? -1 : 1)).slice(0, limit);
}

/** Splits a text into lower-case search words: `getFile_v2` gives `get`, `file`, `v2`. */
export function wordsOf(text: string): readonly string[] {
  return (
    text
      .normalize('NFKC')
      .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  );
}

const isNamedExactly = ({ name }: Target, words: readonly string[]) => wordsOf(name).join(' ') === words.join(' ');

interface Weight {
  readonly weight: number;
  readonly named: boolean;
}

const NONE: Weight = { weight: 0, named: false };

interface SearchField {
  readonly worth: number;
  readonly words: ReadonlySet<string>;
}

// Cached, since a target is the same object until its definition changes.
const known = new WeakMap<Target, readonly SearchField[]>();

/** Returns the words of a target by field, with the weight of each field. */
function fieldsOf(target: Target): readonly SearchField[] {
  const before = known.get(target);
  if (before) return before;
  const { name, servers, definition, facts } = target;
  const { title, description, inputSchema } = definition;
  const properties = isObject(inputSchema) && isObject(inputSchema.properties) ? inputSchema.properties : {};
  const fields = [
    { worth: IN_NAME, words: fieldWords(`${servers.join(' ')} ${name}`) },
    { worth: IN_TITLE, words: fieldWords(`${facts.category} ${textOf(title)}`) },
    { worth: IN_DESCRIPTION, words: fieldWords(textOf(description)) },
    { worth: IN_ARGUMENTS, words: fieldWords(Object.keys(properties).join(' ')) },
  ];
  known.set(target, fields);
  return fields;
}

const fieldWords = (text: string): ReadonlySet<string> =>
  new Set([...new Set(wordsOf(text.slice(0, MAX_FIELD_CHARS)))].slice(0, MAX_FIELD_WORDS));

/** Returns the weight of each query word for a target. */
function weightsOf(target: Target, words: readonly string[]): readonly Weight[] {
  const fields = fieldsOf(target);
  return words.map((word) => {
    const found = fields.map(({ worth, words }) => ({
      weight: worth * shareOf(words, word),
      named: worth === IN_NAME,
    }));
    return found.reduce((best, one) => (one.weight > best.weight ? one : best), NONE);
  });
}

function shareOf(read: ReadonlySet<string>, word: string): number {
  if (read.has(word)) return 1;
  // Languages without spaces between words are matched anywhere in a text.
  const isSpaced = /^[a-z0-9]*$/.test(word);
  for (const other of read) {
    const begins = isSpaced ? word.length > 2 && other.startsWith(word) : other.includes(word);
    if (begins || (other.length > 2 && word.length - other.length < 3 && word.startsWith(other))) return IN_PART;
  }
  return 0;
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
