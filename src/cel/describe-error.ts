import { closest } from '../core/text/did-you-mean.ts';
import { oneLine, quoteName } from '../core/text/visible-text.ts';
import { FIELDS } from './environment.ts';
import { ComputationFailure } from './exact/computation-failure.ts';

/** A problem of an expression, with its place in the text. */
export interface ExpressionProblem {
  readonly message: string;
  readonly fix: string;
  /** Index of the first character that is wrong. */
  readonly offset: number;
}

/** The fields of the evaluator's errors. */
interface CelFailure {
  readonly code?: string;
  readonly summary?: string;
  readonly range?: { readonly start: number; readonly end: number };
  readonly node?: { readonly start: number; readonly end: number };
}

const METHODS = [
  ...['startsWith', 'endsWith', 'contains', 'matches', 'size', 'lowerAscii', 'upperAscii', 'trim', 'indexOf'],
  ...['substring', 'split', 'join', 'all', 'exists', 'exists_one', 'map', 'filter', 'has', 'orValue', 'hasValue'],
  ...['getHours', 'getMinutes', 'getSeconds', 'getDayOfWeek', 'getDate', 'getMonth', 'getFullYear', 'timestamp'],
  ...['duration', 'int', 'double', 'string', 'bool', 'type', 'inside', 'is'],
];
const DYNAMIC_TYPE = /dyn<((?:[^<>]|<[^<>]*>)*)>/g;
const MAX_SHOWN_CHARS = 60;
const CORRECT = 'Correct the expression.';

/** Describes an error of the parser or the type checker. `suggestName` returns the fix for an unknown variable. */
export function describeCompileError(
  thrown: unknown,
  source: string,
  suggestName: (name: string) => string,
): ExpressionProblem {
  const { code, summary = 'it cannot be read', range } = thrown as CelFailure;
  const offset = Math.min(range?.start ?? 0, source.length);
  const unknown = /^(?:Unknown variable|No such key): (\w+)/.exec(summary)?.[1];
  const method = /for '(?:[^.(']*\.)*(\w+)\(/.exec(summary)?.[1];
  if (code === 'unknown_variable' && unknown !== undefined) {
    return { message: `\`${unknown}\` is not a variable`, fix: suggestName(unknown), offset };
  }
  if (code === 'no_such_key' && unknown !== undefined) {
    return {
      message: `there is no field \`${unknown}\``,
      fix: suggestion(unknown, Object.values(FIELDS).flat()),
      offset,
    };
  }
  if (code === 'no_matching_overload' && method !== undefined && !METHODS.includes(method)) {
    return { message: `there is no function \`${method}\``, fix: suggestion(method, METHODS), offset };
  }
  return { message: lowerFirst(shown(summary)), fix: CORRECT, offset };
}

/** Returns a fix that names the closest candidate, or all of them. */
export function suggestion(name: string, candidates: readonly string[]): string {
  const meant = closest(name, candidates);
  return meant === undefined
    ? `Use one of ${candidates.slice(0, 20).map(quoteName).join(', ')}.`
    : `Did you mean \`${quoteName(meant)}\`?`;
}

/** Describes an error of an evaluation. Names the place in the source and never the value, which may be a secret. */
export function describeFailure(thrown: unknown, source: string): string {
  if (thrown instanceof ComputationFailure) return thrown.message;
  const { code, summary = '', node } = thrown as CelFailure;
  const place = node ? shown(source.slice(node.start, node.end)) : '';
  if (code === 'no_such_key' || code === 'unknown_variable') return `\`${place}\` does not exist`;
  // These messages name types only.
  if (code === 'no_such_overload' || code === 'no_matching_overload') {
    return `\`${place}\` cannot be computed: ${shown(summary.replace(DYNAMIC_TYPE, '$1'))}`;
  }
  return place === '' ? 'it cannot be computed' : `\`${place}\` cannot be computed`;
}

const shown = (text: string) => {
  const cut = text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
  return oneLine(cut);
};
const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
