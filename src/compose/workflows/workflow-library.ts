import { isDeepStrictEqual } from 'node:util';
import type { Facts } from '../../core/call/facts.ts';
import type { JsonObject } from '../../core/call.ts';
import type { WorkflowSource } from '../../core/records/workflow.ts';
import { type CompiledWorkflow, compileWorkflow, workflowDigest } from '../../workflow/definition/compile-workflow.ts';
import { type CalledWorkflows, cyclicWorkflow, findCycle } from '../../workflow/definition/find-cycle.ts';
import { workflowFacts } from './workflow-facts.ts';
import { workflowTool } from './workflow-tool.ts';

/** A workflow with a name, valid or not. */
export interface KnownWorkflow extends CompiledWorkflow {
  readonly name: string;
  readonly source: WorkflowSource;
  /** True if it was registered at run time. */
  readonly isRegistered: boolean;
}

/** A workflow without errors. */
export type ValidWorkflow = CompiledWorkflow & Required<Pick<CompiledWorkflow, 'workflow' | 'digest' | 'name'>>;

export interface WorkflowLibraryOptions {
  /** Returns the sources of the configuration. The first of a name wins. */
  readonly configured: () => readonly WorkflowSource[];
  /** The sources registered at run time, by name. */
  readonly registered: ReadonlyMap<string, WorkflowSource>;
  /** Returns the facts of a tool by any name that a call accepts; undefined if it is not known now. */
  readonly factsOf: (tool: string) => Facts | undefined;
  /** Returns true if a tool without a server in its name can only be the workflow of this name. */
  readonly isWorkflow: (tool: string) => boolean;
}

/** The workflows that can be run, and the tools that run them. */
export interface WorkflowLibrary {
  all(): ReadonlyMap<string, KnownWorkflow>;
  /** Compiles a source. The same source is compiled once. One that calls itself over known workflows is invalid. */
  compile(source: WorkflowSource): CompiledWorkflow;
  /** Returns the facts of a workflow as its tools are known now. */
  factsOf(workflow: CompiledWorkflow): Facts | undefined;
  /** Returns the definitions of the tools of all valid workflows. */
  tools(): readonly JsonObject[];
  /** Reports that workflows or the facts of tools may have changed. Watchers are called if the tools have. */
  refresh(): void;
  watch(onChange: () => void): () => void;
}

export function workflowLibrary(options: WorkflowLibraryOptions): WorkflowLibrary {
  const { configured, registered, factsOf, isWorkflow } = options;
  const compiled = new WeakMap<WorkflowSource, CompiledWorkflow>();
  const watchers = new Set<() => void>();
  let listed: readonly JsonObject[] = [];

  function compileOnce(source: WorkflowSource): CompiledWorkflow {
    const known = compiled.get(source) ?? compileWorkflow(source);
    compiled.set(source, known);
    return known;
  }

  /** Returns all workflows, also those that call themselves. */
  function named(): ReadonlyMap<string, KnownWorkflow> {
    const found = new Map<string, KnownWorkflow>();
    const add = (source: WorkflowSource, as?: string) => {
      const one = compileOnce(source);
      const name = as ?? one.name ?? source.name ?? source.file;
      if (name === undefined || found.has(name)) return;
      found.set(name, { ...renamed(one, name), name, source, isRegistered: as !== undefined });
    };
    for (const [name, source] of registered) add(source, name);
    for (const source of configured()) add(source);
    return found;
  }

  function all(): ReadonlyMap<string, KnownWorkflow> {
    const known = named();
    return new Map(
      [...known].map(([name, one]) => {
        const { source, isRegistered } = one;
        return [name, { ...withoutCycle(one, { known, isWorkflow }), name, source, isRegistered }];
      }),
    );
  }

  function factsIn(known: ReadonlyMap<string, KnownWorkflow>, { workflow }: CompiledWorkflow): Facts | undefined {
    return workflow && workflowFacts(workflow, { factsOf, workflow: (name) => known.get(name)?.workflow });
  }

  function tools(): readonly JsonObject[] {
    const known = all();
    return [...known.values()].flatMap((one): readonly JsonObject[] => {
      const { workflow, digest } = one;
      const facts = factsIn(known, one);
      return workflow && digest && facts ? [workflowTool({ workflow, digest, facts })] : [];
    });
  }

  return {
    all,
    compile: (source) => withoutCycle(compileOnce(source), { known: named(), isWorkflow }),
    factsOf: (one) => factsIn(all(), one),
    tools() {
      listed = tools();
      return listed;
    },
    refresh() {
      if (watchers.size > 0 && !isDeepStrictEqual(listed, tools())) for (const onChange of watchers) onChange();
    },
    watch(onChange) {
      watchers.add(onChange);
      return () => void watchers.delete(onChange);
    },
  };
}

/** Returns a workflow under another name: a definition that is run once must not replace a known one of its name. */
function renamed(one: CompiledWorkflow, name: string): CompiledWorkflow {
  if (!one.workflow || one.workflow.name === name) return one;
  const workflow = { ...one.workflow, name };
  return { ...one, workflow, digest: workflowDigest(workflow) };
}

/** Returns a workflow; one that calls itself over others as one with an error. */
function withoutCycle(
  one: CompiledWorkflow,
  { known, isWorkflow }: Pick<CalledWorkflows, 'isWorkflow'> & { known: ReadonlyMap<string, CompiledWorkflow> },
): CompiledWorkflow {
  const { workflow, digest, ...rest } = one;
  const find = (name: string) => (name === workflow?.name ? workflow : known.get(name)?.workflow);
  const cycle = workflow && findCycle(workflow, { find, isWorkflow });
  if (!cycle) return one;
  const at = one.places(cycle.step);
  return { ...rest, problems: [...one.problems, { ...cyclicWorkflow(cycle.names), ...(at && { at }) }] };
}
