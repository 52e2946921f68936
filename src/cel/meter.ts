import type { Environment } from '@marcbachmann/cel-js/evaluator';
import { dependsOnUnknown, unknownValue } from './unknown-value.ts';

/** Steps of one evaluation: about 20 ms. */
const MAX_STEPS = 100_000;
// Later operations may read a whole text or list, so a value costs by its size.
const CHARS_PER_STEP = 256;
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

/** Counts the steps of an evaluation and stops it at the limit. */
export interface Meter {
  /** Puts the counter into the evaluator of an environment. */
  attach(environment: Environment): void;
  /** Marks a node whose whole value will be compared. */
  markCompared(node: SyntaxNode): void;
  /** Adds steps. Throws past the limit. */
  charge(steps: number): void;
  /** Starts an evaluation with at most this number of steps. */
  reset(limit?: number): void;
  /** The steps of the evaluation. */
  readonly used: number;
  /** True if the evaluation met the limit. `||` and `exists` ignore errors, so the result alone does not tell. */
  readonly isExhausted: boolean;
}

const PRODUCERS: ReadonlySet<string> = new Set(['+', 'call', 'rcall', 'list', 'map']);

/** Creates a meter. Evaluations are synchronous and never nested, so one counter serves all. */
export function meter(): Meter {
  const compared = new WeakSet<object>();
  let steps = 0;
  let limit = MAX_STEPS;

  function charge(more: number): void {
    steps += more;
    if (steps > limit) throw new RangeError('it takes too many steps');
  }

  function chargeValue(node: SyntaxNode, value: unknown): void {
    if (typeof value === 'string') charge(Math.floor(value.length / CHARS_PER_STEP));
    else if (typeof value === 'object' && value !== null) {
      requireKnown(value);
      if (compared.has(node)) chargeWhole(value);
      else if (Array.isArray(value) && PRODUCERS.has(node.op)) charge(Math.floor(value.length / ITEMS_PER_STEP));
    }
  }

  function chargeWhole(value: unknown): void {
    charge(1);
    if (typeof value === 'string') charge(Math.floor(value.length / CHARS_PER_STEP));
    if (typeof value !== 'object' || value === null) return;
    requireKnown(value);
    for (const key in value) chargeWhole((value as Record<string, unknown>)[key]);
  }

  return {
    charge,
    markCompared: (node) => compared.add(node),
    reset(most = MAX_STEPS) {
      steps = 0;
      limit = Math.min(most, MAX_STEPS);
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

function requireKnown(value: object): void {
  if (value === unknownValue) throw dependsOnUnknown;
}
