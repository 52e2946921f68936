import { closest } from '../core/text/did-you-mean.ts';
import { previewJson } from '../core/text/preview-json.ts';
import type { SchemaProblem } from './evaluation.ts';

/** The value that is checked. Problems of an output have no values: they may be secret, and go into records. */
export type CheckedValue = 'input' | 'output';

const MAX_SHOWN_PROBLEMS = 5;
const MAX_VALUE = 60;
// Keys of the input and rules of a schema can be as long as a message.
const MAX_PLACE = 200;
const MAX_RULE = 2_200;
const MAX_NAMES = 8;
const WHOLE: Readonly<Record<CheckedValue, string>> = { input: 'the input', output: 'structuredContent' };

/** Describes up to five problems as a sentence without a full stop. */
export function describeProblems(problems: readonly SchemaProblem[], of: CheckedValue): string {
  const texts = new Set<string>();
  for (const problem of problems) {
    // A schema can make a description expensive, so only as many are made as are shown.
    const text = describe(problem, of);
    if (texts.size === MAX_SHOWN_PROBLEMS && !texts.has(text)) return [...texts, 'and more'].join('; ');
    texts.add(text);
  }
  return [...texts].join('; ');
}

function describe({ path, keyword, rule, value, property, known = [] }: SchemaProblem, of: CheckedValue): string {
  const at = placeOf(path, of);
  if (keyword === 'required') return `${at} lacks ${quoted(property ?? '')}`;
  if (property !== undefined) {
    const whole = of === 'input' ? 'an argument of this tool' : 'a property of structuredContent';
    return `${quoted(property)} is not ${path.length === 0 ? whole : `a property of ${at}`}${allowedNames(property, known)}`;
  }
  const got = of === 'input' ? `, got ${previewJson(value, MAX_VALUE)}` : '';
  return `${at} ${cut(rule, MAX_RULE)}${got}`;
}

/** Names a few of the allowed properties, the one nearest to `wrong` first. */
function allowedNames(wrong: string, known: readonly string[]): string {
  if (known.length === 0) return '';
  const nearest = closest(wrong, known);
  const sorted = nearest === undefined ? known : [nearest, ...known.filter((name) => name !== nearest)];
  const shown = sorted.slice(0, MAX_NAMES).map(quoted);
  return `; it takes ${[...shown, ...(sorted.length > MAX_NAMES ? ['…'] : [])].join(', ')}`;
}

const quoted = (name: string) => `\`${cut(name, MAX_PLACE)}\``;
const placeOf = (path: readonly string[], of: CheckedValue) => (path.length === 0 ? WHOLE[of] : quoted(path.join('.')));
const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text);
