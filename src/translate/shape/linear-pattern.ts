import { RE2JS } from 're2js';
import { BoundedMap } from '../../core/bounded-map.ts';
import { toLinearSyntax } from '../../core/text/linear-syntax.ts';
import { matchSteps, patternSize } from '../../core/text/pattern-size.ts';

type FitsText = (text: string) => boolean;

// Linear time can still be slow: the steps per character grow with the pattern. A step takes up to 60 ns.
const MAX_STEPS = 5_000_000;
const MAX_CHARS = 2_000;
// Compiling takes about 10 µs per instruction.
const MAX_INSTRUCTIONS = 10_000;

// The values of one schema are matched with the same few patterns.
const known = new BoundedMap<string, FitsText | undefined>(100);

/**
 * Compiles an untrusted pattern that is matched in linear time. Returns undefined for look-around,
 * back-references and patterns that are too long. Accepts every text that takes too many steps.
 */
export function linearPattern(source: string): FitsText | undefined {
  if (source.length > MAX_CHARS || patternSize(source) > MAX_INSTRUCTIONS) return undefined;
  if (!known.has(source)) known.set(source, compiled(source));
  return known.get(source);
}

function compiled(source: string): FitsText | undefined {
  const syntax = toLinearSyntax(source);
  if (syntax === undefined) return undefined;
  try {
    const pattern = RE2JS.compile(syntax);
    const size = pattern.programSize();
    return (text) => matchSteps(text, size) > MAX_STEPS || pattern.matcher(text).find();
  } catch {
    return undefined;
  }
}
