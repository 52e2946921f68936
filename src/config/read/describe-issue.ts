import type * as z from 'zod';
import type { Json } from '../../core/call.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { Document, DocumentFinding, JsonPath } from '../document.ts';

/** A part of a value that the schema rejects. */
export interface SchemaIssue extends DocumentFinding {
  readonly unknownKey: boolean;
}

export interface Checked {
  readonly document: Document;
  /** The path of the checked value in the document. */
  readonly at: JsonPath;
  readonly value: Json;
  /** Returns the names allowed in the object at this path, for "did you mean". */
  readonly knownKeys: (path: JsonPath) => readonly string[];
  /** Returns a better reason for rejecting a name than "unknown", if there is one. */
  readonly explainKey?: (key: string) => string | undefined;
}

const KEY_HINTS: Readonly<Record<string, string>> = {
  transport: 'Write `type` instead of `transport`.',
  disabled: 'Write `"enabled": false` instead of `disabled`.',
  id: 'Remove `id`; the key in `mcpServers` is the name of the server.',
};

const VALUE_HINTS: Readonly<Record<string, string>> = { websocket: 'ws', 'streamable-http': 'http' };

/** Converts zod issues to problems with locations. Unknown keys come first, because they explain the other issues. */
export function describeIssues(issues: readonly z.core.$ZodIssue[], checked: Checked): readonly SchemaIssue[] {
  const found = issues.flatMap(resolveUnion).flatMap((issue) => describeIssue(issue, checked));
  return found.toSorted((a, b) => Number(b.unknownKey) - Number(a.unknownKey));
}

/** Replaces an issue of a union by the issues of the member that the value has the type of. */
function resolveUnion(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const member = issue.errors.find((each) =>
    each.every(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  if (!member) return [issue];
  return member.flatMap((inner) => resolveUnion({ ...inner, path: [...issue.path, ...inner.path] }));
}

function describeIssue(issue: z.core.$ZodIssue, checked: Checked): readonly SchemaIssue[] {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(path, key, checked));
  const { message, fix } = toMessage(issue, valueAt(checked.value, path));
  const at = checked.document.locate([...checked.at, ...path]);
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
  const reason = parent.length === 0 ? checked.explainKey?.(key) : undefined;
  const meant = closest(key, checked.knownKeys(parent));
  const hint = Object.hasOwn(KEY_HINTS, key) && checked.at.length > 0 ? KEY_HINTS[key] : undefined;
  const message = `\`${dotted([...checked.at, ...path])}\` ${reason ?? 'is not a name Heddle knows'}.`;
  const fix = hint ?? (meant === undefined ? `Remove \`${key}\`.` : `Did you mean \`${quoteName(meant)}\`?`);
  const at = checked.document.locate([...checked.at, ...path], 'name');
  return { path, unknownKey: true, problem: { level: 'error', code: 'CONFIG_INVALID', message, fix, at } };
}

function toMessage(issue: z.core.$ZodIssue, value: Json | undefined): { message: string; fix: string } {
  if (value === undefined) return { message: 'is missing', fix: 'Add it.' };
  switch (issue.code) {
    case 'invalid_type':
      return { message: `must be ${article(issue.expected)}, not ${kindOf(value)}`, fix: 'Correct the value.' };
    case 'invalid_value':
      return choiceMessage(issue.values.map(String), value);
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

function choiceMessage(choices: readonly string[], value: Json): { message: string; fix: string } {
  const message = `must be one of ${choices.map((choice) => `\`${choice}\``).join(', ')}`;
  if (typeof value !== 'string') return { message: `${message}, not ${kindOf(value)}`, fix: 'Choose one of them.' };
  const hint = Object.hasOwn(VALUE_HINTS, value) ? VALUE_HINTS[value] : undefined;
  const meant = hint !== undefined && choices.includes(hint) ? hint : closest(value, choices);
  return { message, fix: meant === undefined ? 'Choose one of them.' : `Did you mean \`${quoteName(meant)}\`?` };
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

/** Converts a path such as `['args', 0]` to `args[0]`. */
function dotted(path: JsonPath): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('');
}

/** Returns the value at a path, own members only. */
export function valueAt(value: Json, path: JsonPath): Json | undefined {
  let found: Json | undefined = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as { readonly [key: string | number]: Json | undefined })[step];
  }
  return found;
}
