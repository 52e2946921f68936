import type { Environment } from '@marcbachmann/cel-js/evaluator';
import { FRACTION_ROUNDED } from './exact/computation-failure.ts';
import { dependsOnUnknown, roundedNumber, unknownValue } from './unknown-value.ts';

/** The limits of one evaluation. */
export interface MeterLimits {
  /** A step takes about 0.2 µs. */
  readonly steps: number;
  /** The characters of a text that is made by `+` or a function, for one step. */
  readonly madeCharsPerStep: number;
  /** The most items of a list, or keys of a map, that a macro iterates. */
  readonly items: number;
}

// Later operations may read a whole text or list, so a value costs by its size.
const CHARS_PER_STEP = 256;
/** The limits of a condition: about 20 ms. */
const CONDITION_LIMITS: MeterLimits = { steps: 100_000, madeCharsPerStep: CHARS_PER_STEP, items: 100_000 };
const ITEMS_PER_STEP = 4;

/** A node of the evaluator's syntax tree. */
export interface SyntaxNode {
  readonly op: string;
  readonly args: unknown;
  readonly start: number;
  evaluate(evaluator: unknown, node: SyntaxNode, context: unknown): unknown;
}

interface Evaluator {
  run(node: SyntaxNode, context: unknown): unknown;
}

/** Returns the steps of a function that reads a value. Throws if the function may not read it. */
export type CostOf = (value: unknown) => number;

/** Counts the steps of an evaluation and stops it at the limit. */
export interface Meter {
  /** Puts the counter into the evaluator of an environment. */
  attach(environment: Environment): void;
  /** Marks a node whose whole value will be compared. */
  markCompared(node: SyntaxNode): void;
  /** Marks a node whose value a macro iterates. */
  markIterated(node: SyntaxNode): void;
  /** Marks a node whose value a slow function reads. `costOf` returns the steps, before the function is called. */
  markCharged(node: SyntaxNode, costOf: CostOf): void;
  /** Adds steps. Throws past the limit. */
  charge(steps: number): void;
  /** Adds the steps of a text that is made. Throws past the limit. */
  chargeText(chars: number): void;
  /** Starts an evaluation with at most this number of steps. */
  reset(limit?: number): void;
  /** The steps of the evaluation. */
  readonly used: number;
  /** True if the evaluation met the limit. `||` and `exists` ignore errors, so the result alone does not tell. */
  readonly isExhausted: boolean;
}

/** The error of a macro over a list or a map that is too large. */
export class TooManyItems extends RangeError {
  constructor(found: string, limit: number) {
    super(`${found}, and ${limit} are allowed`);
  }
}

// Made once: `exists` and `all` ignore errors, so that one per item would be made, each with its stack.
const EXHAUSTED = Object.freeze(new RangeError('it takes too many steps'));

const PRODUCERS: ReadonlySet<string> = new Set(['+', 'call', 'rcall', 'list', 'map']);

/** Creates a meter. Evaluations are synchronous and never nested, so one counter serves all. */
export function meter(limits: MeterLimits = CONDITION_LIMITS): Meter {
  const compared = new WeakSet<object>();
  const iterated = new WeakSet<object>();
  const charged = new WeakMap<object, CostOf>();
  let steps = 0;
  let limit = limits.steps;

  function charge(more: number): void {
    steps += more;
    if (steps > limit) throw EXHAUSTED;
  }

  const chargeText = (chars: number) => charge(Math.floor(chars / limits.madeCharsPerStep));

  function chargeValue(node: SyntaxNode, value: unknown): void {
    charge(charged.get(node)?.(value) ?? 0);
    const isMade = PRODUCERS.has(node.op);
    if (typeof value === 'string' && isMade) chargeText(value.length);
    else if (typeof value === 'string') charge(Math.floor(value.length / CHARS_PER_STEP));
    else if (typeof value === 'object' && value !== null) chargeObject(node, value, isMade);
  }

  function chargeObject(node: SyntaxNode, value: object, isMade: boolean): void {
    requireKnown(value);
    if (iterated.has(node)) charge(stepsToIterate(value, limits.items));
    if (compared.has(node)) chargeWhole(value);
    else if (isMade) chargeMade(value);
  }

  function chargeMade(value: object): void {
    if (Array.isArray(value)) charge(Math.floor(value.length / ITEMS_PER_STEP));
    else if (value instanceof Uint8Array) chargeText(value.length);
  }

  function chargeWhole(value: unknown): void {
    charge(1);
    if (typeof value === 'string') charge(Math.floor(value.length / CHARS_PER_STEP));
    if (typeof value !== 'object' || value === null) return;
    requireKnown(value);
    if (value instanceof Map) for (const item of value.values()) chargeWhole(item);
    for (const key in value) chargeWhole((value as Record<string, unknown>)[key]);
  }

  return {
    charge,
    chargeText,
    markIterated: (node) => iterated.add(node),
    markCompared: (node) => compared.add(node),
    markCharged: (node, costOf) => charged.set(node, costOf),
    reset(most = limits.steps) {
      steps = 0;
      limit = Math.min(most, limits.steps);
    },
    get used() {
      return steps;
    },
    get isExhausted() {
      return steps > limit;
    },
    attach(environment) {
      // The evaluator is private. It is `this` of each function, and evaluates every node by its method `run`.
      environment.registerFunction('attachMeter(): bool', function attach(this: Evaluator): boolean {
        this.run = (node, context) => {
          charge(1);
          const value = node.evaluate(this, node, context);
          if (typeof value === 'string' || typeof value === 'object') chargeValue(node, value);
          return value;
        };
        return true;
      });
      environment.evaluate('attachMeter()');
    },
  };
}

// Counted once: a macro inside another one may iterate a map for each item.
const keyCounts = new WeakMap<object, number>();

/** Returns the steps of starting a macro: it lists all keys of a map. Items of a list are charged one by one. */
function stepsToIterate(value: object, most: number): number {
  if (Array.isArray(value)) {
    if (value.length > most) throw new TooManyItems(`a list has ${value.length} items`, most);
    return 0;
  }
  const count = keyCounts.get(value) ?? Object.keys(value).length;
  keyCounts.set(value, count);
  if (count > most) throw new TooManyItems(`a map has ${count} keys`, most);
  return count;
}

function requireKnown(value: object): void {
  if (value === unknownValue) throw dependsOnUnknown;
  if (value === roundedNumber) throw FRACTION_ROUNDED;
}
