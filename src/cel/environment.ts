import { Environment } from '@marcbachmann/cel-js/evaluator';
import { type Meter, meter } from './meter.ts';
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

/** Builds the environment of conditions: typed variables, operators for JSON numbers and a linear `matches`. */
export function openEnvironment(): MeteredEnvironment {
  const limits = meter();
  const environment = new Environment({
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    limits: LIMITS,
  })
    .registerVariable({ name: 'caller', schema: CALLER })
    .registerVariable({ name: 'tool', schema: TOOL })
    .registerVariable('kind', 'string')
    .registerVariable('args', 'map<string, dyn>')
    .registerVariable('annotations', 'map<string, dyn>')
    .registerVariable('taint', 'list<string>')
    .registerVariable('time', 'google.protobuf.Timestamp')
    .registerFunction(`string.${LINEAR_MATCHES}(string): bool`, (text: string, pattern: string) =>
      safeMatches(text, pattern, limits),
    );
  registerNumbers(environment);
  limits.attach(environment);
  return { environment, meter: limits };
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
function registerNumbers(environment: Environment): void {
  for (const [operator, compute] of Object.entries(ARITHMETIC)) {
    for (const [left, right] of [
      ['double', 'int'],
      ['int', 'double'],
    ]) {
      environment.registerOperator(`${left} ${operator} ${right}: double`, (a: number | bigint, b: number | bigint) =>
        compute(Number(a), Number(b)),
      );
    }
  }
  environment.registerOperator('double % double: double', (a: number, b: number) => a % b);
}
