import { whyAmbiguous } from './uri-form.ts';

/** A parsed URI template (RFC 6570) that can be matched against URIs. */
export interface UriTemplate {
  readonly text: string;
  /** The literal text before the first expression. */
  readonly prefix: string;
  /** The number of literal characters. */
  readonly literalChars: number;
  /** The number of variables, which determines the cost of a match. */
  readonly variables: number;
  /** Returns true if the template can expand to this URI. The time is linear in the length of both. */
  matches(uri: string): boolean;
  /** Returns true if the template has simple variables, as in `{path}`, and matches once they may contain slashes. */
  matchesWithSlashes(uri: string): boolean;
}

/** The reachable positions of a match: 1 at each offset in the URI that can be reached. */
type Places = Uint8Array;
type Step = (uri: string, from: Places) => Places;

interface Expression {
  readonly operator: string;
  readonly names: readonly string[];
  readonly exploded: boolean;
}

const MAX_TEMPLATE_CHARS = 1000;
const MAX_URI_CHARS = 2048;
const MAX_VARIABLES = 10;
const VARIABLE = /^((?:[A-Za-z0-9_.]|%[0-9A-Fa-f]{2})+)(\*|:[1-9]\d{0,3})?$/;

/** Parses a template. Returns undefined if it is invalid or exceeds the limits. */
export function parseUriTemplate(text: string): UriTemplate | undefined {
  if (text.length > MAX_TEMPLATE_CHARS) return undefined;
  const parts = text.split(/\{([^{}]*)\}/); // Every second is an expression.
  const literals = parts.filter((_, at) => at % 2 === 0);
  const expressions = parts.filter((_, at) => at % 2 === 1).map(readExpression);
  if (literals.some((literal) => /[{}]/.test(literal))) return undefined;
  if (!expressions.every((one) => one !== undefined)) return undefined;
  const variables = expressions.reduce((count, { names }) => count + names.length, 0);
  if (variables > MAX_VARIABLES) return undefined;
  const [prefix = ''] = literals;
  const stepsWith = (simple: Step) =>
    literals.flatMap((literal, at): Step[] => {
      const expression = expressions[at];
      return expression ? [literalStep(literal), stepOf(expression, simple)] : [literalStep(literal)];
    });
  const [steps, slashed] = [stepsWith(run(SEGMENT)), stepsWith(run(PATH))];
  const hasSimple = expressions.some(({ operator }) => operator === '');
  const fits = (uri: string) => uri.length <= MAX_URI_CHARS && uri.startsWith(prefix) && hasInOrder(uri, literals);
  return {
    text,
    prefix,
    variables,
    literalChars: literals.join('').length,
    matches: (uri) => fits(uri) && isReached(uri, steps),
    matchesWithSlashes: (uri) => hasSimple && fits(uri) && isReached(uri, slashed),
  };
}

/** Sorts the most specific template first: the longest prefix, then the most literal characters, then by text. */
export function bySpecificity(one: UriTemplate, other: UriTemplate): number {
  const longer = other.prefix.length - one.prefix.length || other.literalChars - one.literalChars;
  if (longer !== 0 || one.text === other.text) return longer;
  return one.text < other.text ? -1 : 1;
}

/** Returns true if a URI matches a configured URI or template. An ambiguous URI matches only its own text. */
export function isMeant(uri: string, written: string): boolean {
  if (uri === written) return true;
  return written.includes('{') && whyAmbiguous(uri) === undefined && parseUriTemplate(written)?.matches(uri) === true;
}

function readExpression(text: string): Expression | undefined {
  const [operator = ''] = /^[+#./;?&]/.exec(text) ?? [];
  const variables = text
    .slice(operator.length)
    .split(',')
    .map((one) => VARIABLE.exec(one));
  if (!variables.every((one) => one !== null)) return undefined;
  return {
    operator,
    names: variables.map(([, name]) => name as string),
    exploded: variables.some(([, , modifier]) => modifier === '*'),
  };
}

/** Returns true if a URI has all literals in this order. It is much quicker than a match, and most URIs fail it. */
function hasInOrder(uri: string, literals: readonly string[]): boolean {
  let end = 0;
  return literals.every((literal) => {
    const at = uri.indexOf(literal, end);
    end = at + literal.length;
    return at !== -1;
  });
}

function isReached(uri: string, steps: readonly Step[]): boolean {
  let places: Places = new Uint8Array(uri.length + 1);
  places[0] = 1;
  for (const step of steps) {
    places = step(uri, places);
    if (!places.includes(1)) return false;
  }
  return places[uri.length] === 1;
}

const literalStep =
  (literal: string): Step =>
  (uri, from) => {
    if (literal === '') return from;
    const to = new Uint8Array(from.length);
    for (let at = from.indexOf(1); at !== -1; ) {
      const found = uri.indexOf(literal, at);
      if (found === -1) break;
      if (from[found] === 1) to[found + literal.length] = 1;
      at = from.indexOf(1, found + 1);
    }
    return to;
  };

// The characters at which a run ends.
const ANYTHING = /(?!)/g;
const SEGMENT = /[/?#]/g;
const PATH = /[?#]/g;

/** `simple` is the step of an expression without an operator. */
function stepOf({ operator, names, exploded }: Expression, simple: Step): Step {
  if (operator === '') return simple;
  if (operator === '+') return run(ANYTHING);
  if (operator === '#') return led('#', run(ANYTHING));
  if (operator === '.') return led('.', run(SEGMENT));
  if (operator === '/') return led('/', run(exploded || names.length > 1 ? PATH : SEGMENT));
  if (operator === ';') return led(';', pairs(names, { exploded, separator: ';' }));
  return led(operator, pairs(names, { exploded, separator: '&' }));
}

/** Matches one or more characters, up to one of `ends`. A whole run is filled at once: URIs are long. */
const run =
  (ends: RegExp): Step =>
  (uri, from) => {
    const to = new Uint8Array(from.length);
    for (let at = from.indexOf(1); at !== -1; ) {
      ends.lastIndex = at;
      const end = ends.test(uri) ? ends.lastIndex - 1 : uri.length;
      to.fill(1, at + 1, end + 1);
      at = from.indexOf(1, end + 1);
    }
    return to;
  };

/** Matches an expression with a leading character. Both are absent if its variables are not set. */
const led =
  (lead: string, step: Step): Step =>
  (uri, from) => {
    const after = literalStep(lead)(uri, from);
    const to = step(uri, after);
    for (let at = 0; at < to.length; at++) if (from[at] === 1 || after[at] === 1) to[at] = 1;
    return to;
  };

interface Pairing {
  readonly exploded: boolean;
  readonly separator: keyof typeof EQUALS;
}

// An empty path parameter is written without `=`.
const EQUALS = { ';': '', '&': '=' };

/** Matches any number of `name=value` pairs. An exploded variable may have any names. */
function pairs(names: readonly string[], { exploded, separator }: Pairing): Step {
  const begins = exploded ? [''] : names.map((name) => name + EQUALS[separator]);
  const endsOf = (uri: string, at: number) =>
    begins.flatMap((begin) => (uri.startsWith(begin, at) ? at + begin.length : []));
  return (uri, from) => {
    const named = Uint8Array.from(from);
    const to = new Uint8Array(from.length);
    for (let at = 0; at < uri.length; at++) {
      if (named[at] === 1) for (const end of endsOf(uri, at)) to[end] = 1;
      const next = uri[at] === separator ? named : to;
      if (uri[at] !== '#') next[at + 1] ||= to[at] as number;
    }
    return to;
  };
}
