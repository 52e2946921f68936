import type * as z from 'zod';
import type { Json } from '../../core/call.ts';
import { cutText } from '../../core/text/cut-text.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { Problem } from '../config.ts';
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

/** The most problems that are described for one value. Each is located and compared with the known names. */
const MAX_DESCRIBED = 100;
/** The longest name or path in a message. */
const MAX_NAME_CHARS = 200;
/** The most values of one document. Each may have several errors. */
const MAX_VALUES = 100_000;

/** Returns true if a value has more parts than a configuration may have. */
export function hasTooManyValues(value: Json | undefined): boolean {
  const open = [value];
  let count = 0;
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one !== 'object' || one === null) continue;
    for (const member of Object.values(one)) {
      if (++count > MAX_VALUES) return true;
      open.push(member ?? null);
    }
  }
  return false;
}

export function tooManyValues({ file, locate }: Document): Problem {
  const message = `${file} has more than ${MAX_VALUES} values, so none of them is used.`;
  return { level: 'error', code: 'CONFIG_INVALID', message, fix: 'Split the file, or remove values.', at: locate([]) };
}

/** The result of checking a value: its parsed form, or the issues. */
interface SchemaCheck<T> {
  readonly data?: T;
  readonly issues: readonly z.core.$ZodIssue[];
}

export function checkBySchema<T>(schema: z.ZodType<T>, value: Json): SchemaCheck<T> {
  try {
    const { data, error } = schema.safeParse(value);
    return error ? { issues: error.issues } : { data, issues: [] };
  } catch (thrown) {
    // zod passes the issues of a list as arguments of one function, which takes about 100,000.
    if (!(thrown instanceof RangeError)) throw thrown;
    return { issues: [{ code: 'custom', path: [], message: 'has too many errors', input: undefined }] };
  }
}

/**
 * Converts zod issues to problems with locations. Unknown keys come first, because they explain the other issues. All
 * issues after the first 100 share one problem.
 */
export function describeIssues(issues: readonly z.core.$ZodIssue[], checked: Checked): readonly SchemaIssue[] {
  const resolved = issues.flatMap(resolveUnion).flatMap(byKey);
  const sorted = resolved.toSorted((a, b) => Number(isUnknown(b)) - Number(isUnknown(a)));
  const described = sorted.slice(0, MAX_DESCRIBED).map((issue) => describeIssue(issue, checked));
  return [...described, ...notDescribed(sorted.slice(MAX_DESCRIBED), checked)];
}

/** Returns an issue for each unknown key. */
const byKey = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] =>
  issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ ...issue, keys: [key] })) : [issue];

/** Returns the places of further issues, no deeper than two steps, with one problem for all. */
function notDescribed(issues: readonly z.core.$ZodIssue[], { document, at }: Checked): readonly SchemaIssue[] {
  const [first] = issues;
  if (!first) return [];
  const message = `There are ${issues.length} more errors after the first ${MAX_DESCRIBED}.`;
  const fix = 'Correct the others first.';
  const place = document.locate([...at, ...pathOf(first)]);
  const problem: Problem = { level: 'error', code: 'CONFIG_INVALID', message, fix, at: place };
  const places = new Map(issues.map((issue) => [shortPath(issue).join('\0'), issue]));
  return [...places.values()].map((issue) => ({ path: shortPath(issue), unknownKey: isUnknown(issue), problem }));
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

const pathOf = (issue: z.core.$ZodIssue): JsonPath => {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  return issue.code === 'unrecognized_keys' ? [...path, ...issue.keys] : path;
};

const isUnknown = ({ code }: z.core.$ZodIssue): boolean => code === 'unrecognized_keys';

/** Returns the path of an unknown key, or that of the setting, rule or server that has the issue. */
const shortPath = (issue: z.core.$ZodIssue): JsonPath => (isUnknown(issue) ? pathOf(issue) : pathOf(issue).slice(0, 2));

function describeIssue(issue: z.core.$ZodIssue, checked: Checked): SchemaIssue {
  const path = pathOf(issue);
  if (isUnknown(issue)) return unknownKey(path, checked);
  const { message, fix } = toMessage(issue, valueAt(checked.value, path));
  const at = checked.document.locate([...checked.at, ...path]);
  const name = dotted([...checked.at, ...path]);
  const problem: Problem = { level: 'error', code: 'CONFIG_INVALID', message: `\`${name}\` ${message}.`, fix, at };
  return { path, unknownKey: false, problem };
}

function unknownKey(path: JsonPath, checked: Checked): SchemaIssue {
  const parent = path.slice(0, -1);
  const key = String(path.at(-1));
  const reason = parent.length === 0 ? checked.explainKey?.(key) : undefined;
  const meant = closest(key, checked.knownKeys(parent));
  const hint = Object.hasOwn(KEY_HINTS, key) && checked.at.length > 0 ? KEY_HINTS[key] : undefined;
  const message = `\`${dotted([...checked.at, ...path])}\` ${reason ?? 'is not a name Heddle knows'}.`;
  const remove = `Remove \`${cutText(key, MAX_NAME_CHARS)}\`.`;
  const fix = hint ?? (meant === undefined ? remove : `Did you mean \`${quoteName(meant)}\`?`);
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
      return {
        message: value === '' ? 'is empty' : bound('at least', issue.minimum, issue.origin),
        fix: 'Correct the value.',
      };
    case 'invalid_key':
      return { message: issue.issues[0]?.message ?? issue.message, fix: 'Choose another name.' };
    case 'too_big':
      return { message: bound('at most', issue.maximum, issue.origin), fix: 'Correct the value.' };
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

const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'item' };

/** Returns the sentence about a bound: of a number, or of the length of a text or list. */
function bound(which: 'at least' | 'at most', limit: number | bigint, origin: string): string {
  const unit = Object.hasOwn(UNITS, origin) ? UNITS[origin] : undefined;
  return unit === undefined
    ? `must be ${which} ${limit}`
    : `must have ${which} ${limit} ${unit}${limit === 1 ? '' : 's'}`;
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
  const steps = path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`));
  return cutText(steps.join(''), MAX_NAME_CHARS);
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
