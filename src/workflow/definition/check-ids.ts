import type { Step } from './canonical.ts';
import type { Reported } from './compilation.ts';
import { groupsIn, type StepGroup } from './walk-steps.ts';

/** The names that are no ids, by form. */
export const RESERVED_IDS: Readonly<Record<'rich' | 'classic', ReadonlySet<string>>> = {
  classic: new Set(['input', 'var', 'item', 'prev']),
  rich: new Set(['input', 'var', 'item', 'prev', 'index', 'loop', 'branch', 'self', 'steps', 'run']),
};

interface IdScope {
  readonly names: Set<string>;
  readonly outer?: IdScope;
}

interface IdCheck {
  readonly form: 'rich' | 'classic';
  report(step: Step, problem: Reported): void;
}

/** Reports ids that are reserved, used twice in one scope, or hide a step of a scope around them. */
export function checkIds(steps: readonly Step[], check: IdCheck): void {
  checkSteps(steps, { names: new Set() }, check);
}

function checkSteps(steps: readonly Step[], scope: IdScope, check: IdCheck): void {
  for (const step of steps) {
    const groups = groupsIn(step);
    const inCases = new Set<string>();
    checkBranches(step, check);
    for (const group of groups) checkGroup(step, group, { scope, check, inCases });
    for (const id of inCases) scope.names.add(id);
    checkId(step, scope, check);
    scope.names.add(step.id);
  }
}

/** The ids of branches are parts of paths, so they are unique too. */
function checkBranches(step: Step, { report }: IdCheck): void {
  const ids = step.kind === 'parallel' ? step.branches.map(({ id }) => id) : [];
  const twice = ids.find((id, index) => ids.indexOf(id) < index);
  if (twice === undefined) return;
  const message = `Two branches have the id \`${twice}\`.`;
  report(step, { code: 'ID_REPEATED', message, fix: 'Rename one of the two.' });
}

interface GroupContext {
  readonly scope: IdScope;
  readonly check: IdCheck;
  readonly inCases: Set<string>;
}

function checkGroup(step: Step, group: StepGroup, { scope, check, inCases }: GroupContext): void {
  if (group.scope === 'same') checkSteps(group.steps, scope, check);
  else if (group.scope === 'own') {
    for (const name of group.names ?? []) checkName(step, name, { scope, check });
    checkSteps(group.steps, { names: new Set(group.names), outer: scope }, check);
  } else {
    const names = new Set(scope.names);
    checkSteps(group.steps, { ...scope, names }, check);
    for (const id of names) inCases.add(id);
  }
}

/** Checks the name of an item: it must not be reserved or hide a step. */
function checkName(step: Step, name: string, { scope, check }: Pick<GroupContext, 'scope' | 'check'>): void {
  if (name === 'item') return;
  if (RESERVED_IDS[check.form].has(name)) check.report(step, reserved(name));
  else if (isTaken(name, scope)) check.report(step, shadowed(name, check.form));
}

function checkId(step: Step, scope: IdScope, check: IdCheck): void {
  const { id } = step;
  if (RESERVED_IDS[check.form].has(id)) check.report(step, reserved(id));
  else if (scope.names.has(id)) {
    const message = `The id \`${id}\` is used twice in one scope.`;
    check.report(step, { code: 'ID_REPEATED', message, fix: 'Rename one of the two steps.' });
  } else if (scope.outer && isTaken(id, scope.outer)) check.report(step, shadowed(id, check.form));
}

const isTaken = (name: string, scope: IdScope): boolean =>
  scope.names.has(name) || (scope.outer !== undefined && isTaken(name, scope.outer));

const reserved = (name: string): Reported => ({
  code: 'ID_RESERVED',
  message: `\`${name}\` is a reserved name.`,
  fix: 'Choose another id.',
});

/** Classic workflows were free to hide a step, so it is a warning there. */
const shadowed = (name: string, form: 'rich' | 'classic'): Reported => ({
  level: form === 'classic' ? 'warning' : 'error',
  code: 'ID_SHADOWED',
  message: `\`${name}\` hides a step with the same id outside of this one.`,
  fix: 'Choose another id.',
});
