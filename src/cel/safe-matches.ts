import { RE2JS } from 're2js';
import { BoundedMap } from '../core/bounded-map.ts';
import { matchSteps, patternSize } from '../core/text/pattern-size.ts';
import type { Meter } from './meter.ts';

const MAX_PATTERN_CHARS = 1000;
const MAX_LITERALS = 20_000;
const MAX_COMPUTED = 100;
// The engine takes 25 ns for an instruction and a character, so a step of an evaluation takes about as long as 8.
// Patterns of many optional parts take up to 60 ns: a condition of nothing else takes 50 ms instead of 20 ms.
const WORK_PER_STEP = 8;
// Compiling takes about 10 µs per instruction.
const MAX_INSTRUCTIONS = 2_000;
const STEPS_PER_INSTRUCTION = 50;

// Patterns that a condition computes cannot displace those that were compiled with the rules.
const literals = new BoundedMap<string, RE2JS>(MAX_LITERALS);
const computed = new BoundedMap<string, RE2JS>(MAX_COMPUTED);

/** Compiles a literal pattern of RE2, which takes linear time. Throws an error that says what is wrong with it. */
export function compilePattern(pattern: string): void {
  if (!literals.get(pattern)) literals.set(pattern, compile(pattern));
}

function compile(pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN_CHARS) throw new RangeError(`it is longer than ${MAX_PATTERN_CHARS} characters`);
  if (patternSize(pattern) > MAX_INSTRUCTIONS) throw new RangeError('its repeats make it too large');
  return RE2JS.compile(pattern);
}

/** Returns true if a pattern is found anywhere in a text, as CEL's `matches` says. */
export function safeMatches(text: string, pattern: string, { charge }: Pick<Meter, 'charge'>): boolean {
  charge(pattern.length);
  const found = literals.get(pattern) ?? compileComputed(pattern, charge);
  charge(Math.ceil(matchSteps(text, found.programSize()) / WORK_PER_STEP));
  return found.matcher(text).find();
}

function compileComputed(pattern: string, charge: Meter['charge']): RE2JS {
  const known = computed.get(pattern);
  if (known) return known;
  charge(patternSize(pattern) * STEPS_PER_INSTRUCTION);
  const found = compile(pattern);
  computed.set(pattern, found);
  return found;
}
