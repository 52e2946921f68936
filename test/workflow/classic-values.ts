import { evaluateCel } from './cel-subset.ts';

export type Args = Readonly<Record<string, unknown>>;

export class StepFailure extends Error {}

/** The result of a step or of a list of steps; undefined when there is none. */
export type Outcome = { readonly value: unknown } | undefined;

/** The values that references have. */
export interface Values {
  readonly input: unknown;
  readonly steps: Map<string, { readonly value: unknown; readonly isTool: boolean }>;
  readonly skipped: Set<string>;
  readonly variables: Map<string, unknown>;
  readonly loopVariables: ReadonlyMap<string, unknown>;
  /** `$prev`, `$item` and `$index` of a pipeline. */
  readonly locals: Args;
}

const REFERENCE = /^\$[A-Za-z_][\w-]*(\.[\w-]+)*$/;

/** Resolves each value. A reference that resolves to nothing leaves its argument out. */
export function resolveMapping(mapping: Readonly<Record<string, string>>, run: Values): Args {
  const found = Object.entries(mapping).map(([name, text]) => ({ name, found: resolveValue(text, run) }));
  return Object.fromEntries(found.flatMap(({ name, found }) => (found ? [[name, found.value]] : [])));
}

/** Returns the value of a reference, of JSON text, or the text itself. */
export function resolveValue(text: string, run: Values): Outcome {
  return REFERENCE.test(text) ? resolveReference(text, run) : (parseLiteral(text) ?? { value: text });
}

export function parseLiteral(text: string): Outcome {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function resolveReference(text: string, run: Values): Outcome {
  const [root = '', ...path] = text.slice(1).split('.');
  if (root === 'input') return follow({ value: run.input }, path);
  if (Object.hasOwn(run.locals, root)) return follow({ value: run.locals[root] }, path);
  const [name = '', ...rest] = path;
  if (root === 'var') {
    const owner = [run.loopVariables, run.variables].find((one) => one.has(name));
    return owner && follow({ value: owner.get(name) }, rest);
  }
  const step = run.steps.get(root);
  if (step && name === 'result') return follow(step, rest);
  const isPart = ['content', 'isError', 'serverId', 'latencyMs'].includes(name);
  return step?.isTool && isPart ? follow(step, path) : undefined;
}

function follow(from: { readonly value: unknown }, path: readonly string[]): Outcome {
  let value = from.value;
  for (const part of path) {
    const isKey = Array.isArray(value) ? /^\d+$/.test(part) : typeof value === 'object' && value !== null;
    if (!isKey || !Object.hasOwn(value as object, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return { value };
}

/** Decides a condition. A single reference or literal counts by truthiness, anything longer is CEL. */
export function isTrue(text: string, run: Values): boolean {
  if (REFERENCE.test(text)) return Boolean(resolveReference(text, run)?.value);
  const literal = parseLiteral(text);
  if (literal) return Boolean(literal.value);
  const decided = evaluateCel(text, (reference) => resolveReference(reference, run));
  if (typeof decided === 'boolean') return decided;
  const roots = [...text.matchAll(/\$([\w-]+)/g)].map(([, root = '']) => root);
  if (roots.some((root) => run.skipped.has(root))) return false;
  throw new StepFailure(`The condition has no value: ${text}`);
}
