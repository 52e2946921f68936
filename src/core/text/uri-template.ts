import { whyAmbiguous } from './uri-form.ts';

/** A URI template (RFC 6570), read so that it can be asked which URIs it may have made. */
export interface UriTemplate {
  readonly text: string;
  /** What every such URI begins with. */
  readonly prefix: string;
  /** How many characters of such a URI are given. */
  readonly literalChars: number;
  /** How many variables it has: what a match costs. */
  readonly variables: number;
  /** Whether some values of its variables make this URI. Time grows with the length of both, never faster. */
  matches(uri: string): boolean;
}

/** Where a match may stand: 1 at every place in the URI that can be reached. */
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

/** Reads a template; undefined when it is none, or larger than any that makes sense. */
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
  const steps = literals.flatMap((literal, at): Step[] => {
    const expression = expressions[at];
    return expression ? [given(literal), stepOf(expression)] : [given(literal)];
  });
  return {
    text,
    prefix,
    variables,
    literalChars: literals.join('').length,
    matches: (uri) => uri.length <= MAX_URI_CHARS && uri.startsWith(prefix) && isReached(uri, steps),
  };
}

/** The most telling first: the longest beginning, then the most that is given; the text decides the rest. */
export function bySpecificity(one: UriTemplate, other: UriTemplate): number {
  const longer = other.prefix.length - one.prefix.length || other.literalChars - one.literalChars;
  if (longer !== 0 || one.text === other.text) return longer;
  return one.text < other.text ? -1 : 1;
}

/** Returns true if a URI is meant by a URI or a template of the configuration. An ambiguous URI has to be written as it is. */
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

function isReached(uri: string, steps: readonly Step[]): boolean {
  let places: Places = new Uint8Array(uri.length + 1);
  places[0] = 1;
  for (const step of steps) places = step(uri, places);
  return places[uri.length] === 1;
}

const given =
  (literal: string): Step =>
  (uri, from) => {
    if (literal === '') return from;
    const to = new Uint8Array(from.length);
    for (let at = from.indexOf(1); at !== -1; at = from.indexOf(1, at + 1)) {
      if (uri.startsWith(literal, at)) to[at + literal.length] = 1;
    }
    return to;
  };

const ANYTHING = /./s;
const SEGMENT = /[^/?#]/;
const PATH = /[^?#]/;

function stepOf({ operator, names, exploded }: Expression): Step {
  if (operator === '') return run(SEGMENT);
  if (operator === '+') return run(ANYTHING);
  if (operator === '#') return led('#', run(ANYTHING));
  if (operator === '.') return led('.', run(SEGMENT));
  if (operator === '/') return led('/', run(exploded || names.length > 1 ? PATH : SEGMENT));
  if (operator === ';') return led(';', pairs(names, { exploded, separator: ';' }));
  return led(operator, pairs(names, { exploded, separator: '&' }));
}

/** One or more characters of a kind. */
const run =
  (allowed: RegExp): Step =>
  (uri, from) => {
    const to = new Uint8Array(from.length);
    let running = false;
    for (let at = 0; at < from.length; at++) {
      if (running) to[at] = 1;
      running = (running || from[at] === 1) && at < uri.length && allowed.test(uri[at] as string);
    }
    return to;
  };

/** What has a character of its own before it is left out together with it when its variables are not set. */
const led =
  (lead: string, step: Step): Step =>
  (uri, from) => {
    const after = given(lead)(uri, from);
    const to = step(uri, after);
    for (let at = 0; at < to.length; at++) if (from[at] === 1 || after[at] === 1) to[at] = 1;
    return to;
  };

interface Pairing {
  readonly exploded: boolean;
  readonly separator: keyof typeof EQUALS;
}

// A parameter of a path that is empty is its name alone.
const EQUALS = { ';': '', '&': '=' };

/** `name=value`, any number of them. Who explodes a variable brings names of its own. */
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
