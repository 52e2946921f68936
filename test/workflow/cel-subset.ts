/**
 * Evaluates the part of CEL that the random workflows use: `||`, `&&`, `!`, parentheses, `size(reference)`,
 * comparisons, references, and the literals null, true, false, numbers and quoted strings.
 */

type Value = { readonly value: unknown } | undefined;
type Resolve = (reference: string) => Value;

const TOKEN = /\s*(\|\||&&|[=!<>]=|[!<>()]|\$[\w-]+(?:\.\w+)*|-?\d+(?:\.\d+)?|'[^']*'|"[^"]*"|\w+)/y;
const COMPARE: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
};

/** Returns the value of the condition; undefined when it is an error in CEL, as for a reference without a value. */
export function evaluateCel(text: string, resolve: Resolve): boolean | undefined {
  const tokens = tokenize(text);
  let at = 0;
  const accept = (token: string) => tokens[at] === token && ++at > 0;
  const expect = (token: string) => {
    if (!accept(token)) throw new Error(`${token} is missing in the condition: ${text}`);
  };

  const either = (): Value => joined('||', true, both);
  const both = (): Value => joined('&&', false, comparison);
  // One operand can decide the value, also when the other operand is an error.
  function joined(operator: string, deciding: boolean, operand: () => Value): Value {
    const values = [operand()];
    while (accept(operator)) values.push(operand());
    if (values.length === 1) return values[0];
    if (values.some((one) => one?.value === deciding)) return { value: deciding };
    return values.every((one) => typeof one?.value === 'boolean') ? { value: !deciding } : undefined;
  }
  function comparison(): Value {
    const left = unary();
    const operator = ['==', '!=', ...Object.keys(COMPARE)].find(accept);
    return operator === undefined ? left : compare(operator, left, unary());
  }
  function unary(): Value {
    if (!accept('!')) return term();
    const operand = unary();
    return typeof operand?.value === 'boolean' ? { value: !operand.value } : undefined;
  }
  function term(): Value {
    if (accept('(')) {
      const inner = either();
      expect(')');
      return inner;
    }
    const token = tokens[at++] ?? '';
    if (token.startsWith('$')) return resolve(token);
    if (token === 'size') {
      const inner = term();
      return Array.isArray(inner?.value) ? { value: inner.value.length } : undefined;
    }
    return { value: token.startsWith("'") ? token.slice(1, -1) : (JSON.parse(token) as unknown) };
  }

  const result = either();
  if (at !== tokens.length) throw new Error(`The condition goes on after its end: ${text}`);
  return typeof result?.value === 'boolean' ? result.value : undefined;
}

function tokenize(text: string): readonly string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let end = 0; end < text.trimEnd().length; end = TOKEN.lastIndex) {
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw new Error(`The condition is outside the subset of CEL: ${text}`);
    tokens.push(token);
  }
  return tokens;
}

function compare(operator: string, left: Value, right: Value): Value {
  if (left === undefined || right === undefined) return undefined;
  if (operator === '==') return { value: left.value === right.value };
  if (operator === '!=') return { value: left.value !== right.value };
  if (typeof left.value !== 'number' || typeof right.value !== 'number') return undefined;
  return { value: COMPARE[operator]?.(left.value, right.value) };
}
