import { requireRole } from '../../core/call/caller.ts';
import type { Caller, JsonObject, Role } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { WorkflowSource, WorkflowSummary } from '../../core/records/workflow.ts';
import type { WorkflowChoice, Workflows } from '../../core/records/workflow-api.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { CompiledWorkflow } from '../../workflow/definition/compile-workflow.ts';
import { countSteps } from '../../workflow/definition/walk-steps.ts';
import type { AuditedChange } from '../audited-change.ts';
import { type ExamineOptions, lintOne, planOne } from './examine-workflow.ts';
import { UNKNOWN_FACTS } from './workflow-facts.ts';
import type { KnownWorkflow, ValidWorkflow, WorkflowLibrary } from './workflow-library.ts';

export interface WorkflowsApiOptions extends ExamineOptions {
  /** The workflows registered at run time, those that are run once included. */
  readonly registered: Map<string, WorkflowSource>;
  /** Returns the names of the workflows whose tools a caller may see. */
  readonly visibleTo: (by: Caller) => Promise<ReadonlySet<string>>;
  /** Lists the tools again after a change of `registered`. */
  readonly publish: (by: Caller) => Promise<void>;
  readonly audited: <T>(by: Caller, change: AuditedChange, act: () => Promise<T>) => Promise<T>;
}

/** A workflow that a call can name. */
export interface EnteredWorkflow {
  readonly name: string;
  /** Removes a definition that was entered for one run. */
  leave(): Promise<void>;
}

/** The workflows, and the way in which a definition is run once. */
export interface WorkflowsApi extends Workflows {
  enter(by: Caller, workflow: WorkflowChoice): Promise<EnteredWorkflow>;
}

const ADMINISTRATORS: readonly Role[] = ['owner', 'operator', 'auditor'];
const CHANGERS: readonly Role[] = ['owner', 'operator'];

/** Returns the API of workflows. Changes need a role and are audited. */
export function workflowsApi(options: WorkflowsApiOptions): WorkflowsApi {
  const { library } = options;
  /** By name: the number of runs that are being started of a definition that is run once. */
  const entered = new Map<string, number>();
  const choose = chooser(options, entered);
  const summaryOf = summaries(library);

  return {
    async list(by) {
      const [known, visible] = [library.all(), await choose.visibleTo(by)];
      const shown = [...known.values()].filter(({ name }) => visible.has(name));
      return shown.map((one) => summaryOf(one, one.name, one.source.file)).sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async get(by, choice) {
      const one = await choose.valid(by, choice);
      return {
        ...summaryOf(one, one.name, fileOf(library, choice)),
        definition: one.workflow as unknown as JsonObject,
      };
    },
    ...registration(options, { choose, entered, summaryOf }),
    async lint(by, choice, signal) {
      const one = await choose.any(by, choice);
      return lintOne(options, { ...one, file: fileOf(library, choice) }, { by, signal });
    },
    plan: async (by, choice, input, signal) => planOne(options, await choose.valid(by, choice), { by, signal, input }),
    async toMermaid(by, choice) {
      const { toMermaid } = await import('../../workflow/to-mermaid.ts');
      return toMermaid((await choose.valid(by, choice)).workflow);
    },
    enter: async (by, choice) =>
      typeof choice === 'string'
        ? { name: choice, leave: async () => {} }
        : enterSource(options, { choose, entered }, { by, source: choice }),
  };
}

const fileOf = (library: WorkflowLibrary, choice: WorkflowChoice): string | undefined =>
  typeof choice === 'string' ? library.all().get(choice)?.source.file : choice.file;

/** Finds the workflows that callers choose. */
interface Chooser {
  visibleTo(by: Caller): Promise<ReadonlySet<string>>;
  /** Returns a workflow, also one with errors. */
  any(by: Caller, choice: WorkflowChoice): Promise<CompiledWorkflow>;
  /** Throws WORKFLOW_INVALID for one with errors. */
  valid(by: Caller, choice: WorkflowChoice): Promise<ValidWorkflow>;
}

function chooser({ library, ...options }: WorkflowsApiOptions, entered: ReadonlyMap<string, number>): Chooser {
  /** Returns the names that a caller may see. Administrators also see workflows with errors, which have no tool. */
  async function visibleTo(by: Caller): Promise<ReadonlySet<string>> {
    const callable = await options.visibleTo(by);
    const administrates = by.roles.some((role) => ADMINISTRATORS.includes(role));
    const broken = administrates ? [...library.all().values()].filter(({ workflow }) => !workflow) : [];
    const all = [...callable, ...broken.map(({ name }) => name)];
    return new Set(all.filter((name) => !entered.has(name)));
  }

  async function any(by: Caller, choice: WorkflowChoice): Promise<CompiledWorkflow> {
    if (typeof choice !== 'string') return library.compile(choice);
    const visible = await visibleTo(by);
    const found = library.all().get(choice);
    if (found && visible.has(choice)) return found;
    throw unknownWorkflow(choice, [...visible]);
  }

  return {
    visibleTo,
    any,
    async valid(by, choice) {
      const one = await any(by, choice);
      if (isValid(one)) return one;
      throw invalidWorkflow(one);
    },
  };
}

const isValid = (one: CompiledWorkflow): one is ValidWorkflow =>
  one.workflow !== undefined && one.digest !== undefined && one.name !== undefined;

type SummaryOf = (one: CompiledWorkflow, name: string, file: string | undefined) => WorkflowSummary;

const summaries =
  (library: WorkflowLibrary): SummaryOf =>
  (one, name, file) => {
    const { workflow, digest = '', problems } = one;
    return {
      name,
      ...(workflow?.description !== undefined && { description: workflow.description }),
      digest,
      steps: workflow ? countSteps(workflow.steps) : 0,
      input: workflow?.input ?? { type: 'object' },
      facts: library.factsOf(one) ?? UNKNOWN_FACTS,
      ...(file !== undefined && { file }),
      problems,
    };
  };

interface Entering {
  readonly choose: Chooser;
  readonly entered: Map<string, number>;
}

function registration(
  { library, registered, publish, audited }: WorkflowsApiOptions,
  { choose, entered, summaryOf }: Entering & { readonly summaryOf: SummaryOf },
): Pick<Workflows, 'register' | 'unregister'> {
  return {
    async register(by, source) {
      requireRole(by, CHANGERS);
      await choose.valid(by, source); // One that is nested too deeply cannot be copied.
      const own = structuredClone(source); // A copy: the program cannot change it afterwards.
      const one = await choose.valid(by, own);
      const { name, digest } = one;
      await audited(by, { action: 'register', detail: { workflow: name, digest } }, async () => {
        if (library.all().has(name)) throw taken(name);
        registered.set(name, own);
        await publish(by);
      });
      return summaryOf(one, name, source.file);
    },
    async unregister(by, name) {
      requireRole(by, CHANGERS);
      await audited(by, { action: 'unregister', detail: { workflow: cutAndEscapeBreaks(name, 80) } }, async () => {
        if (entered.has(name) || !registered.delete(name)) throw notRegistered(name, library.all());
        await publish(by);
      });
    },
  };
}

/** Enters a definition for one run, under its own name if that is free. */
async function enterSource(
  { library, registered, publish }: WorkflowsApiOptions,
  { choose, entered }: Entering,
  { by, source }: { readonly by: Caller; readonly source: WorkflowSource },
): Promise<EnteredWorkflow> {
  requireRole(by, CHANGERS);
  const { name: wanted, digest } = await choose.valid(by, source);
  const known = library.all().get(wanted);
  if (known?.digest === digest && !entered.has(wanted)) return { name: wanted, leave: async () => {} };
  const name = known ? `${wanted}-${digest.slice(0, 12)}` : wanted;
  const uses = entered.get(name) ?? 0;
  entered.set(name, uses + 1);
  if (uses === 0) registered.set(name, { ...source });
  await publish(by);
  return {
    name,
    async leave() {
      const left = (entered.get(name) ?? 1) - 1;
      if (left > 0) return void entered.set(name, left);
      entered.delete(name);
      registered.delete(name);
      await publish(by);
    },
  };
}

/** Creates WORKFLOW_INVALID with the first error and its place. */
export function invalidWorkflow({ name, problems }: CompiledWorkflow): HeddleError {
  const first = problems.find(({ level }) => level === 'error');
  const { message = 'It could not be read.', fix = 'Run `heddle lint` to see why.', at } = first ?? {};
  const place = at ? ` (${at.file ?? 'line'}:${at.line}:${at.column})` : '';
  const more = problems.length > 1 ? ` There are ${problems.length - 1} more problems.` : '';
  return new HeddleError('WORKFLOW_INVALID', `${name ?? 'The workflow'} is invalid${place}: ${message}${more}`, {
    fix,
    details: { problems: problems as unknown as JsonObject[] },
  });
}

export function unknownWorkflow(name: string, names: readonly string[]): HeddleError {
  const meant = closest(name, names);
  return new HeddleError('NAME_UNKNOWN', `There is no workflow ${cutAndEscapeBreaks(name, 80)}.`, {
    fix: meant === undefined ? 'Run `heddle list workflows` to see all.' : `Did you mean ${quoteName(meant)}?`,
  });
}

const taken = (name: string) =>
  new HeddleError('NAME_TAKEN', `There is a workflow ${name} already.`, {
    fix: 'Give it another `name`, or unregister the other one first.',
  });

function notRegistered(name: string, known: ReadonlyMap<string, KnownWorkflow>): HeddleError {
  const found = known.get(name);
  if (!found) return unknownWorkflow(name, [...known.keys()]);
  return new HeddleError('NAME_UNKNOWN', `${name} was not registered at run time.`, {
    fix: found.source.file === undefined ? 'Remove it from the configuration.' : `Remove it in ${found.source.file}.`,
  });
}
