import type { JsonObject } from '../../core/call.ts';
import type {
  Mapping,
  ParallelStep,
  PipelineStep,
  Step,
  StepCondition,
  ToolUse,
  Workflow,
} from '../definition/canonical.ts';
import { readsIn } from '../expressions/evaluate-mapping.ts';
import { type LintName, type LintScope, openLintScope, withLintValues } from './lint-scope.ts';

/** A place of a definition: the step, its path, and the names that it sees. */
export interface LintPlace {
  /** Absent for the output of the workflow. */
  readonly step?: Step;
  readonly path: string;
  readonly scope: LintScope;
  /** The names that a condition around this place tests. */
  readonly tested: ReadonlySet<string>;
}

/** Receives the parts of a definition in the order in which a run meets them. */
export interface LintVisitor {
  step(place: LintPlace & { readonly step: Step }): void;
  /** A mapping or condition, with the values that it can read. */
  reads(place: LintPlace, mapping: Mapping | StepCondition): void;
  use(place: LintPlace, use: ToolUse): void;
}

const NUMBER: LintName = { schema: { type: 'integer' } };
const UNKNOWN: LintName = {};

/** Walks a workflow with the scopes of the canonical form. */
export function walkScopes(workflow: Workflow, visitor: LintVisitor): void {
  const scope = openLintScope(undefined, {
    input: workflow.input ? { schema: workflow.input } : UNKNOWN,
    // `outputMapping` of the classic form adds variables.
    var: workflow.form === 'classic' ? UNKNOWN : { schema: schemaOfValue(workflow.var ?? {}) },
    run: UNKNOWN,
  });
  const root: LintPlace = { path: '', scope, tested: new Set() };
  const walk = { visitor, form: workflow.form };
  walkSteps(workflow.steps, root, walk);
  if (workflow.output) visitor.reads(root, workflow.output);
}

interface Walk {
  readonly visitor: LintVisitor;
  readonly form: Workflow['form'];
}

function walkSteps(steps: readonly Step[], place: LintPlace, walk: Walk): void {
  for (const step of steps) walkStep(step, place, walk);
}

function walkStep(step: Step, outside: LintPlace, walk: Walk): void {
  const { visitor } = walk;
  const tested = step.if ? testedBy(outside, step.if) : outside.tested;
  const path = outside.path === '' ? step.id : `${outside.path}/${step.id}`;
  const place = { step, path, scope: outside.scope, tested };
  if (step.if) visitor.reads({ ...place, tested: outside.tested }, step.if);
  visitor.step(place);
  const inner = walkInside(step, place, walk);
  if (step.fallback && 'mapping' in step.fallback) visitor.reads(place, step.fallback.mapping);
  else if (step.fallback) walkStep(step.fallback, place, walk);
  const known = { step, scope: inner, mayBeSkipped: step.if !== undefined || step.onError === 'skip' };
  const self = withLintValues(inner, {
    [step.id]: { ...known, mayBeSkipped: false },
    self: { ...known, mayBeSkipped: false },
  });
  for (const mapping of Object.values(step.output ?? {})) visitor.reads({ ...place, scope: self }, mapping);
  if (step.compensate) visitUse({ ...place, scope: self }, step.compensate, walk);
  outside.scope.add(step.id, known);
}

function visitUse(place: LintPlace, use: ToolUse, { visitor }: Walk): void {
  visitor.reads(place, use.input);
  visitor.use(place, use);
}

const testedBy = ({ tested }: LintPlace, condition: StepCondition): ReadonlySet<string> =>
  new Set([...tested, ...readsIn(condition).map(({ name }) => name)]);

/** Walks the parts of a step. Returns the scope that its `output` sees. */
function walkInside(step: Step, place: LintPlace & { readonly step: Step }, walk: Walk): LintScope {
  const { visitor } = walk;
  const { scope } = place;
  switch (step.kind) {
    case 'tool':
      visitUse(place, step, walk);
      if (typeof step.idempotency === 'object') visitor.reads(place, step.idempotency);
      return scope;
    case 'sequential':
      walkSteps(step.steps, place, walk);
      return scope;
    case 'pipeline':
      return walkPipeline(step, place, walk);
    case 'parallel':
      return walkParallel(step, place, walk);
    case 'switch':
      for (const { when, steps } of step.cases) {
        visitor.reads(place, when);
        walkCase(steps, { ...place, tested: testedBy(place, when) }, walk);
      }
      walkCase(step.else ?? [], place, walk);
      return scope;
    case 'fanout':
      return walkFanout(step, place, walk);
    case 'loop':
      return walkLoop(step, place, walk);
    default:
      for (const mapping of mappingsOf(step)) visitor.reads(place, mapping);
      return scope;
  }
}

/** Returns the mappings of a step that holds no steps. */
function mappingsOf(step: Step): readonly Mapping[] {
  switch (step.kind) {
    case 'approval':
      return step.show ? [step.title, step.show] : [step.title];
    case 'wait':
      return step.until ? [step.until] : [];
    case 'workflow':
      return [step.input];
    case 'code':
      return step.input ? [step.input] : [];
    default:
      return [];
  }
}

/** Walks the steps of a case. Later steps see them, and they may have been skipped. */
function walkCase(steps: readonly Step[], place: LintPlace, walk: Walk): void {
  walkSteps(steps, { ...place, scope: openShared(place.scope, {}) }, walk);
}

/** Opens a scope whose steps are also seen outside of it, where they may have been skipped. */
function openShared(outer: LintScope, values: Readonly<Record<string, LintName>>): LintScope {
  const inside = openLintScope(outer, values);
  function add(name: string, known: LintName): void {
    inside.add(name, known);
    outer.add(name, 'step' in known ? { ...known, mayBeSkipped: true } : known);
  }
  return { ...inside, add };
}

/** The classic form shows the steps of a branch or a loop to later steps. */
const openInner = (form: Walk['form'], outer: LintScope, values: Readonly<Record<string, LintName>>): LintScope =>
  form === 'classic' ? openShared(outer, values) : openLintScope(outer, values);

function walkPipeline(step: PipelineStep, place: LintPlace, walk: Walk): LintScope {
  const { visitor } = walk;
  const inside = { ...place, scope: withLintValues(place.scope, { prev: UNKNOWN }) };
  const ofItems = { ...place, scope: withLintValues(place.scope, { prev: UNKNOWN, item: UNKNOWN, index: NUMBER }) };
  for (const part of step.parts) {
    if ('step' in part) walkStep(part.step, inside, walk);
    else if ('transform' in part) visitor.reads(part.each ? ofItems : inside, part.transform);
    else if ('filter' in part) visitor.reads(ofItems, part.filter);
    else visitUse(ofItems, part.enrich, walk);
  }
  return place.scope;
}

function walkParallel(step: ParallelStep, place: LintPlace, walk: Walk): LintScope {
  for (const { id, steps } of step.branches) {
    const scope = openInner(walk.form, place.scope, {});
    walkSteps(steps, { ...place, path: `${place.path}/${id}`, scope }, walk);
  }
  if (step.by) {
    const values = { branch: UNKNOWN };
    walk.visitor.reads({ ...place, scope: withLintValues(place.scope, values) }, step.by);
  }
  return place.scope;
}

function walkFanout(step: Extract<Step, { kind: 'fanout' }>, place: LintPlace, walk: Walk): LintScope {
  walk.visitor.reads(place, step.items);
  const inside = openLintScope(place.scope, { item: UNKNOWN, [step.as]: UNKNOWN, index: NUMBER });
  walkSteps(step.steps, { ...place, scope: inside }, walk);
  const merged = { ...place, scope: withLintValues(place.scope, { items: { schema: { type: 'array' } } }) };
  if (step.merge) visitUse(merged, step.merge, walk);
  return place.scope;
}

function walkLoop(step: Extract<Step, { kind: 'loop' }>, place: LintPlace, walk: Walk): LintScope {
  const inside = openInner(walk.form, place.scope, walk.form === 'rich' ? RICH_LOOP : CLASSIC_LOOP);
  walkSteps(step.steps, { ...place, scope: inside }, walk);
  const after = { ...place, scope: inside };
  walk.visitor.reads(after, 'while' in step.test ? step.test.while : step.test.until);
  if (step.carry) walk.visitor.reads(after, step.carry);
  return inside;
}

const RICH_LOOP: Readonly<Record<string, LintName>> = {
  loop: {
    schema: {
      type: 'object',
      properties: { index: { type: 'integer' }, first: { type: 'boolean' }, last: { type: 'boolean' }, prev: {} },
      additionalProperties: false,
    },
  },
};
const CLASSIC_LOOP: Readonly<Record<string, LintName>> = {
  var: UNKNOWN,
  iteration: NUMBER,
  loopResults: { schema: { type: 'array' } },
};

/** Returns a schema with the fields that a value has. */
function schemaOfValue(value: JsonObject): JsonObject {
  const properties = Object.fromEntries(Object.keys(value).map((key) => [key, {}]));
  return { type: 'object', properties, additionalProperties: false };
}
