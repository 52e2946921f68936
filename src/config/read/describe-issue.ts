import type * as z from 'zod';
import type { Json } from '../../core/call.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Document, DocumentFinding, JsonPath } from './parse-document.ts';

/** One thing the schema does not accept. */
export interface SchemaIssue extends DocumentFinding {
  readonly unknownKey: boolean;
}

export interface Checked {
  readonly document: Document;
  /** Where in the document the checked value is. */
  readonly at: JsonPath;
  readonly value: Json;
  /** Names that may stand in the object at this path, for did-you-mean. */
  readonly knownKeys: (path: JsonPath) => readonly string[];
  /** Why a name is refused, when there is more to say than that it is unknown. */
  readonly explainKey?: (key: string) => string | undefined;
}

const KEY_HINTS: Readonly<Record<string, string>> = {
  transport: 'Write `type` instead of `transport`.',
  id: 'Remove `id`; the key in `mcpServers` is the name of the server.',
};

const VALUE_HINTS: Readonly<Record<string, string>> = { websocket: 'ws', 'streamable-http': 'http' };

/** Puts what zod found into words, with the place it was found at. An unknown key comes first: it explains the rest. */
export function describeIssues(issues: readonly z.core.$ZodIssue[], checked: Checked): readonly SchemaIssue[] {
  const complaints = issues.flatMap(meant).flatMap((issue) => describeIssue(issue, checked));
  return complaints.toSorted((a, b) => Number(b.unknownKey) - Number(a.unknownKey));
}

/** Of a value that may be one of several kinds: what is wrong with it as the kind that it is. */
function meant(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const fitting = issue.errors.find((each) =>
    each.every(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  if (!fitting) return [issue];
  return fitting.flatMap((inner) => meant({ ...inner, path: [...issue.path, ...inner.path] }));
}

function describeIssue(issue: z.core.$ZodIssue, checked: Checked): readonly SchemaIssue[] {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(path, key, checked));
  const { message, fix } = sayIssue(issue, valueAt(checked.value, path));
  const at = checked.document.placeOf([...checked.at, ...path]);
  const name = dotted([...checked.at, ...path]);
  return [
    {
      path,
      unknownKey: false,
      problem: { level: 'error', code: 'CONFIG_INVALID', message: `\`${name}\` ${message}.`, fix, at },
    },
  ];
}

function unknownKey(parent: JsonPath, key: string, checked: Checked): SchemaIssue {
  const path = [...parent, key];
  const why = parent.length === 0 ? checked.explainKey?.(key) : undefined;
  const meant = closest(key, checked.knownKeys(parent));
  const hint = Object.hasOwn(KEY_HINTS, key) && checked.at.length > 0 ? KEY_HINTS[key] : undefined;
  const message = `\`${dotted([...checked.at, ...path])}\` ${why ?? 'is not a name Heddle knows'}.`;
  const fix = hint ?? (meant === undefined ? `Remove \`${key}\`.` : `Did you mean \`${meant}\`?`);
  const at = checked.document.placeOf([...checked.at, ...path], 'name');
  return { path, unknownKey: true, problem: { level: 'error', code: 'CONFIG_INVALID', message, fix, at } };
}

function sayIssue(issue: z.core.$ZodIssue, value: Json | undefined): { message: string; fix: string } {
  if (value === undefined) return { message: 'is missing', fix: 'Add it.' };
  switch (issue.code) {
    case 'invalid_type':
      return { message: `must be ${article(issue.expected)}, not ${kindOf(value)}`, fix: 'Correct the value.' };
    case 'invalid_value':
      return sayChoice(issue.values.map(String), value);
    case 'too_small':
      return { message: value === '' ? 'is empty' : `must be at least ${issue.minimum}`, fix: 'Correct the value.' };
    case 'invalid_key':
      return { message: issue.issues[0]?.message ?? issue.message, fix: 'Choose another name.' };
    case 'too_big':
      return { message: `must be at most ${issue.maximum}`, fix: 'Correct the value.' };
    case 'invalid_format':
      return issue.format === 'url'
        ? {
            message: 'is not a URL that can be used here',
            fix: 'Write a whole URL, such as `https://example.com/mcp`.',
          }
        : { message: issue.message, fix: 'Correct the value.' };
    default:
      return { message: issue.message, fix: 'Correct the value.' };
  }
}

function sayChoice(choices: readonly string[], value: Json): { message: string; fix: string } {
  const message = `must be one of ${choices.map((choice) => `\`${choice}\``).join(', ')}`;
  if (typeof value !== 'string') return { message: `${message}, not ${kindOf(value)}`, fix: 'Choose one of them.' };
  const hint = Object.hasOwn(VALUE_HINTS, value) ? VALUE_HINTS[value] : undefined;
  const meant = hint !== undefined && choices.includes(hint) ? hint : closest(value, choices);
  return { message, fix: meant === undefined ? 'Choose one of them.' : `Did you mean \`${meant}\`?` };
}

function article(expected: string): string {
  if (expected === 'int') return 'a whole number';
  if (expected === 'record') return 'an object';
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return article(typeof value === 'number' && !Number.isInteger(value) ? 'fraction' : typeof value);
}

/** `['args', 0]` as a person writes it: `args[0]`. */
function dotted(path: JsonPath): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('');
}

/** The value a path leads to, own members only. */
export function valueAt(value: Json, path: JsonPath): Json | undefined {
  let found: Json | undefined = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as { readonly [key: string | number]: Json | undefined })[step];
  }
  return found;
}
