import type { Json } from '../core/call.ts';
import { every } from './applicators.ts';
import type { CompileKeyword } from './assertions.ts';
import {
  type CompileContext,
  type Evaluation,
  fails,
  followReference,
  freshEvaluated,
  inPlace,
  type Matches,
  quietly,
  type SchemaProblem,
} from './evaluation.ts';

// Branches that are tried again to explain why none fits.
const MAX_EXPLAINED = 20;

/** The keywords that check the same value by other schemas. */
export const COMBINATORS: Readonly<Record<string, CompileKeyword>> = {
  $ref: (written, _, context) => reference(written, context),
  $recursiveRef: (written, _, context) => reference(written, context),
  $dynamicRef(written, _, context) {
    const { index, resource, compileAt } = context;
    if (index.isOld) return () => true;
    const target = index.resolve(textOf('$dynamicRef', written), resource);
    const { anchor } = target;
    const fixed = compileAt(target.schema, target.resource);
    if (anchor === undefined || !target.resource.dynamicAnchors.has(anchor))
      return (value, state) => followReference(fixed, value, state);
    return (value, state) => {
      state.budget.take(state.scope.length);
      const outermost = state.scope.find(({ dynamicAnchors }) => dynamicAnchors.has(anchor));
      const schema = outermost?.dynamicAnchors.get(anchor);
      const matches = outermost && schema ? compileAt(schema, outermost) : fixed;
      return followReference(matches, value, state);
    };
  },
  allOf(written, _, { compile }) {
    const parts = listOf('allOf', written, compile);
    return (value, state) => {
      state.budget.take(parts.length);
      return every(parts, state, (matches) => inPlace(matches, value, state));
    };
  },
  anyOf(written, _, { compile }) {
    const parts = listOf('anyOf', written, compile);
    return (value, state) => {
      state.budget.take(parts.length);
      // Each branch that fits may evaluate other parts.
      const fitting = state.evaluated
        ? parts.filter((matches) => quietly(matches, value, state)).length
        : Number(parts.some((matches) => quietly(matches, value, state)));
      return fitting > 0 || explain(parts, 'anyOf', value, state);
    };
  },
  oneOf(written, _, { compile }) {
    const parts = listOf('oneOf', written, compile);
    return (value, state) => {
      state.budget.take(parts.length);
      let fitting = 0;
      for (const matches of parts) {
        if (quietly(matches, value, state)) fitting++;
        if (fitting > 1) break;
      }
      if (fitting === 1) return true;
      if (fitting === 0) return explain(parts, 'oneOf', value, state);
      return fails(state, { keyword: 'oneOf', rule: 'must match exactly one schema in oneOf', value });
    };
  },
  not(written, _, { compile }) {
    const matches = compile(written);
    return (value, state) => {
      const { evaluated } = state;
      if (evaluated) state.evaluated = freshEvaluated(state.budget); // Its own: what fits below `not` counts there only.
      const fits = quietly(matches, value, state);
      state.evaluated = evaluated;
      return !fits || fails(state, { keyword: 'not', rule: 'must NOT be valid', value });
    };
  },
  if(written, schema, { compile }) {
    const condition = compile(written);
    const [yes, no] = (['then', 'else'] as const).map((key) =>
      schema[key] === undefined ? undefined : compile(schema[key]),
    );
    return (value, state) => {
      const chosen = quietly(condition, value, state) ? yes : no;
      return !chosen || inPlace(chosen, value, state);
    };
  },
};

function reference(written: Json, { index, resource, compileAt }: CompileContext): Matches {
  const target = index.resolve(textOf('$ref', written), resource);
  const matches = compileAt(target.schema, target.resource);
  return (value, state) => followReference(matches, value, state);
}

/** Notes the problem of the branch that comes nearest: types that are all wrong are named together. */
function explain(parts: readonly Matches[], keyword: string, value: Json, state: Evaluation): false {
  const { problems } = state;
  if (!problems) return false;
  const found = parts.slice(0, MAX_EXPLAINED).flatMap((matches) => {
    const own: SchemaProblem[] = [];
    state.problems = own;
    inPlace(matches, value, state);
    return own[0] ? [own[0]] : [];
  });
  state.problems = problems;
  const depth = state.path.length;
  const deeper = found.find(({ path }) => path.length > depth);
  const [first] = found;
  if (!first) return fails(state, { keyword, rule: `must match a schema in ${keyword}`, value });
  const types = found.filter((one) => one.keyword === 'type').map(({ rule }) => rule.replace('must be ', ''));
  const isTypeOnly = !deeper && types.length === parts.length;
  const rule = isTypeOnly ? `must be ${[...new Set(types)].join(' or ')}` : first.rule;
  problems.push(deeper ?? { ...first, rule });
  return false;
}

function listOf(keyword: string, written: Json, compile: CompileContext['compile']): readonly Matches[] {
  if (!Array.isArray(written)) throw new Error(`${keyword} must be an array`);
  return written.map((one: Json) => compile(one));
}

function textOf(keyword: string, written: Json): string {
  if (typeof written === 'string') return written;
  throw new Error(`${keyword} must be a string`);
}
