import { Environment } from '@marcbachmann/cel-js/evaluator';
import { type Meter, type MeterLimits, meter } from './meter.ts';
import { safeMatches } from './safe-matches.ts';

/** Structural limits of one expression. */
const LIMITS = {
  maxAstNodes: 2000,
  maxDepth: 64,
  maxListElements: 1000,
  maxMapEntries: 200,
  maxCallArguments: 16,
};

const CALLER = { id: 'string', roles: 'list<string>', via: 'string', profile: 'string' };
const TOOL = {
  name: 'string',
  ownName: 'string',
  server: 'string',
  servers: 'list<string>',
  kind: 'string',
  category: 'string',
  riskLevel: 'string',
  readOnly: 'bool',
  destructive: 'bool',
  idempotent: 'bool',
  openWorld: 'bool',
  requiresApproval: 'bool',
  builtin: 'bool',
  costPerCall: 'double',
  requires: 'list<string>',
};

/** The fields of the variables that have a fixed shape, for "did you mean". */
export const FIELDS: Readonly<Record<string, readonly string[]>> = {
  caller: Object.keys(CALLER),
  tool: Object.keys(TOOL),
};

/** An environment whose evaluations are metered. */
export interface MeteredEnvironment {
  readonly environment: Environment;
  readonly meter: Meter;
}

/** The method that replaces `matches`: the evaluator's own uses a regular expression that may backtrack. */
export const LINEAR_MATCHES = 'matchesInLinearTime';

/** The method that replaces `join`: it charges for the text before it makes it. */
export const METERED_JOIN = 'joinWithinLimits';

/** Declares the variables of a condition. */
export const declareConditionVariables = (environment: Environment): Environment =>
  environment
    .registerVariable({ name: 'caller', schema: CALLER })
    .registerVariable({ name: 'tool', schema: TOOL })
    .registerVariable('kind', 'string')
    .registerVariable('args', 'map<string, dyn>')
    .registerVariable('annotations', 'map<string, dyn>')
    .registerVariable('taint', 'list<string>')
    .registerVariable('time', 'google.protobuf.Timestamp');

export interface EnvironmentOptions {
  readonly limits?: MeterLimits;
  /** Converts an integer for a computation with a double. */
  readonly toDouble?: (value: number | bigint) => number;
}

/** Builds an environment: its variables, operators for JSON numbers, a linear `matches` and a metered `join`. */
export function openEnvironment(
  declare: (environment: Environment) => Environment,
  { limits, toDouble = Number }: EnvironmentOptions = {},
): MeteredEnvironment {
  const counter = meter(limits);
  const environment = declare(
    new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false, limits: LIMITS }),
  );
  environment.registerFunction(`string.${LINEAR_MATCHES}(string): bool`, (text: string, pattern: string) =>
    safeMatches(text, pattern, counter),
  );
  const join = (texts: readonly string[], separator = '') => joinTexts(texts, separator, counter);
  environment.registerFunction(`list<string>.${METERED_JOIN}(): string`, (texts: readonly string[]) => join(texts));
  environment.registerFunction(`list<string>.${METERED_JOIN}(string): string`, join);
  registerNumbers(environment, toDouble);
  counter.attach(environment);
  return { environment, meter: counter };
}

function joinTexts(texts: readonly string[], separator: string, { chargeText }: Meter): string {
  let chars = separator.length * texts.length;
  for (const text of texts) {
    if (typeof text !== 'string') throw new TypeError('join: the list has an item that is no text');
    chars += text.length;
  }
  chargeText(chars);
  return texts.join(separator);
}

type Arithmetic = (left: number, right: number) => number;

const ARITHMETIC: Readonly<Record<string, Arithmetic>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
};

/** Adds operators for mixed numbers. JSON numbers are doubles and literals are ints, so `args.n + 1` has both. */
function registerNumbers(environment: Environment, toDouble: (value: number | bigint) => number): void {
  for (const [operator, compute] of Object.entries(ARITHMETIC)) {
    for (const [left, right] of [
      ['double', 'int'],
      ['int', 'double'],
    ]) {
      environment.registerOperator(`${left} ${operator} ${right}: double`, (a: number | bigint, b: number | bigint) =>
        compute(toDouble(a), toDouble(b)),
      );
    }
  }
  environment.registerOperator('double % double: double', (a: number, b: number) => a % b);
}
