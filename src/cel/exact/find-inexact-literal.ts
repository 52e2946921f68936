import type { ExpressionProblem } from '../describe-error.ts';
import type { SyntaxNode } from '../meter.ts';
import { walk } from '../syntax.ts';
import { MAX_INT64, MAX_UINT64 } from './mixed-numbers.ts';

const DECIMAL = /^(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the first character behind ASCII's controls and letters.
const BEYOND_ASCII = /[^\x00-\x7f]/;

/**
 * Finds a literal whose value differs from its text. It is a rounded double, an integer of more than 64 bits, or bytes
 * that the evaluator reads as Latin-1. A rule with it would not match the value that it names.
 */
export function findInexactLiteral(root: SyntaxNode, source: string): ExpressionProblem | undefined {
  let found: ExpressionProblem | undefined;
  const negated = new Set<unknown>();
  walk(root, (node) => {
    if (node.op === '-_') negated.add(node.args);
    if (node.op === 'value') found ??= problemOf(node as LiteralNode, source, negated.has(node));
  });
  return found;
}

type LiteralNode = SyntaxNode & { readonly end: number };

function problemOf(
  { args, start, end }: LiteralNode,
  source: string,
  isNegated: boolean,
): ExpressionProblem | undefined {
  if (typeof args === 'bigint' && args > MAX_INT64 + (isNegated ? 1n : 0n)) {
    const fix = args <= MAX_UINT64 ? `Write \`${args}u\`.` : 'Write a smaller number.';
    return { message: 'an integer has more than 64 bits', fix, offset: start };
  }
  const text = source.slice(start, end);
  if (typeof args === 'number' && isRounded(args, text)) {
    return { message: `\`${text}\` would be rounded to ${args}`, fix: 'Write it as an integer.', offset: start };
  }
  if (args instanceof Uint8Array && BEYOND_ASCII.test(text)) {
    return {
      message: 'bytes have a letter beyond ASCII',
      fix: 'Write its bytes, as in `b"\\xc3\\xbf"`.',
      offset: start,
    };
  }
  return undefined;
}

/** Returns true for a double over 2^53 whose text is another number. Over 64 bits no number of JSON is kept exactly. */
function isRounded(value: number, text: string): boolean {
  if (value <= Number.MAX_SAFE_INTEGER || value >= 2 ** 64) return false;
  const [, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  const shift = Number(exponent) - fraction.length;
  const digits = whole + fraction;
  if (shift >= 0) return BigInt(digits + '0'.repeat(shift)) !== BigInt(value);
  return !/^0*$/.test(digits.slice(shift)) || BigInt(digits.slice(0, shift) || '0') !== BigInt(value);
}
