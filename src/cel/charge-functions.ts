import type { Meter, SyntaxNode } from './meter.ts';
import { methodCall, sizedBy } from './syntax.ts';

// `size` reads each letter, since some have two characters.
const MEASURED_CHARS_PER_STEP = 64;
const MAX_DURATION_CHARS = 64;
// `duration` takes up to 0.7 ns times the cube of the length: its pattern begins anew at each character.
const CUBED_CHARS_PER_STEP = 256;
// A search takes up to 1.6 ns for each pair of characters. Up to this length the engine's worst case is short.
const MAX_FREE_SEARCHED_CHARS = 64;
const PAIRS_PER_STEP = 128;
// A time zone is loaded again by each call, which takes about 0.5 ms.
const STEPS_PER_TIME_ZONE = 2_000;

const SEARCHES: ReadonlySet<string> = new Set(['contains', 'indexOf', 'lastIndexOf', 'split']);
const TIME_PART = /^get(?:Date|Day\w+|FullYear|Hours|Minutes|Month|Seconds)$/;

/** Marks the operands of the evaluator's functions that take longer than one step. */
export function chargeFunctions(node: SyntaxNode, meter: Meter): void {
  const measured = sizedBy(node);
  if (measured) meter.markCharged(measured, costOfSize);
  if (node.op === 'call') {
    const [name, args] = node.args as readonly [string, readonly SyntaxNode[]];
    if (name === 'duration' && args[0]) meter.markCharged(args[0], costOfDuration);
    return;
  }
  const [name = '', receiver, args] = methodCall(node) ?? [];
  const [first] = args ?? [];
  if (!receiver || !first) return;
  if (TIME_PART.test(name)) meter.markCharged(first, () => STEPS_PER_TIME_ZONE);
  if (SEARCHES.has(name)) chargeSearch(receiver, first, meter);
}

const charsOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0);

function costOfDuration(value: unknown): number {
  const length = charsOf(value);
  if (length > MAX_DURATION_CHARS) throw new RangeError(`a duration has at most ${MAX_DURATION_CHARS} characters`);
  return Math.ceil(length ** 3 / CUBED_CHARS_PER_STEP);
}

/** Marks a text and the part that is searched in it. The evaluator evaluates the last argument first. */
function chargeSearch(text: SyntaxNode, part: SyntaxNode, meter: Meter): void {
  let partChars = 0;
  meter.markCharged(part, (value) => {
    partChars = charsOf(value);
    return 0;
  });
  meter.markCharged(text, (value) =>
    partChars > MAX_FREE_SEARCHED_CHARS ? Math.ceil((charsOf(value) * partChars) / PAIRS_PER_STEP) : 0,
  );
}

/** Returns the steps of `size`. Lists and bytes know their size. */
function costOfSize(value: unknown): number {
  if (typeof value === 'string') return Math.floor(value.length / MEASURED_CHARS_PER_STEP);
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
  return isMap ? Object.keys(value).length : 0;
}
