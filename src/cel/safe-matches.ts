import { RE2JS } from 're2js';
import { BoundedMap } from '../core/bounded-map.ts';
import { patternSize } from '../core/text/pattern-size.ts';
import type { Meter } from './meter.ts';

const MAX_PATTERN_CHARS = 1000;
const MAX_KNOWN = 1000;
// The engine takes up to 30 ns for an instruction and a character; a step of an evaluation takes about as long as 8.
const WORK_PER_STEP = 8;
// Compiling takes about 10 µs per instruction.
const MAX_INSTRUCTIONS = 2_000;

const compiled = new BoundedMap<string, RE2JS>(MAX_KNOWN);

/** Compiles a pattern of RE2, which takes linear time. Throws an error that says what is wrong with it. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known) return known;
  if (pattern.length > MAX_PATTERN_CHARS) throw new RangeError(`it is longer than ${MAX_PATTERN_CHARS} characters`);
  if (patternSize(pattern) > MAX_INSTRUCTIONS) throw new RangeError('its repeats make it too large');
  const found = RE2JS.compile(pattern);
  compiled.set(pattern, found);
  return found;
}

/** Returns true if a pattern is found anywhere in a text, as CEL's `matches` says. */
export function safeMatches(text: string, pattern: string, { charge }: Pick<Meter, 'charge'>): boolean {
  charge(pattern.length);
  const found = compilePattern(pattern);
  charge(Math.ceil((text.length * found.programSize()) / WORK_PER_STEP));
  return found.matcher(text).find();
}
