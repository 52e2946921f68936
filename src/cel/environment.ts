import { Environment } from '@marcbachmann/cel-js/evaluator';
import { MIXED } from './exact/mixed-numbers.ts';
import { isHost } from './host-is.ts';
import { type Meter, type MeterLimits, meter } from './meter.ts';
import { isPathInside } from './path-inside.ts';
import { safeMatches } from './safe-matches.ts';

/** Structural limits of one expression. */
const LIMITS = {
  maxAstNodes: 2000,
  maxDepth: 64,
  maxListElements: 1000,
  maxMapEntries: 200,
  maxCallArguments: 16,
};

const CALLER = { id: 'string', roles: 'list<string>', via: 'string', profile: 'string', agent: 'string' };
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

// Folding takes up to 0.4 µs for a character. The part of a URL behind its host is hardly read.
const STEPS_PER_PLACE = 10;
const MAX_HOST_STEPS = 300;

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

/** Builds an environment: its variables, operators for JSON numbers, a linear `matches` and a metered `join`. */
export function openEnvironment(
  declare: (environment: Environment) => Environment,
  limits?: MeterLimits,
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
  registerPlaces(environment, counter);
  registerNumbers(environment);
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

class PathNamespace {}
class HostNamespace {}

/** Adds `path.inside` and `host.is`. Values of other types reach them, so that the error names the argument. */
function registerPlaces(environment: Environment, { charge }: Meter): void {
  environment
    .registerType('PathNamespace', PathNamespace)
    .registerType('HostNamespace', HostNamespace)
    .registerConstant('path', 'PathNamespace', new PathNamespace())
    .registerConstant('host', 'HostNamespace', new HostNamespace());
  environment.registerFunction(
    'PathNamespace.inside(dyn, string): bool',
    (_: object, path: unknown, folder: string) => {
      charge(STEPS_PER_PLACE + charsOf(path) + folder.length);
      return isPathInside(path, folder);
    },
  );
  environment.registerFunction('HostNamespace.is(dyn, string): bool', (_: object, url: unknown, pattern: string) => {
    charge(STEPS_PER_PLACE + Math.min(charsOf(url), MAX_HOST_STEPS) + pattern.length);
    return isHost(url, pattern);
  });
}

const charsOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0);

/** Adds operators for mixed numbers. JSON numbers are doubles and literals are ints, so `args.n + 1` has both. */
function registerNumbers(environment: Environment): void {
  for (const [operator, compute] of Object.entries(MIXED)) {
    environment.registerOperator(`double ${operator} int: double`, compute);
    environment.registerOperator(`int ${operator} double: double`, compute);
  }
  environment.registerOperator('double % double: double', MIXED['%']);
}
