import { BoundedMap } from '../../core/bounded-map.ts';
import { isObject } from '../../core/json.ts';
import type { RunJournal } from '../../store/run-journal.ts';
import type { Workflow } from '../../workflow/definition/canonical.ts';
import { workflowOfTool } from '../../workflow/definition/find-cycle.ts';
import { namesCalledBy } from '../../workflow/definition/steps-in.ts';
import type { WorkflowLibrary } from '../workflows/workflow-library.ts';
import { invalidWorkflow, unknownWorkflow } from '../workflows/workflows-api.ts';

/** A definition and those of the workflows that its steps may call. */
export interface PinnedDefinition {
  readonly workflow: Workflow;
  readonly subWorkflows: Readonly<Record<string, Workflow>>;
}

type Pins = Readonly<Record<string, string>>;
type FindWorkflow = (name: string) => Promise<Workflow | undefined>;

const MAX_PARENTS = 1000;

/** Finds the definitions of new runs. A run that a step begins has the definition that was pinned when its parent began. */
export function definitionPins(journal: RunJournal, library: WorkflowLibrary) {
  const byParent = new BoundedMap<string, Promise<Pins>>(MAX_PARENTS);

  async function readPins(run: string): Promise<Pins> {
    const [created] = await journal.entries(run);
    const pinned = created?.detail.pinned;
    return isObject(pinned) ? (pinned as unknown as Pins) : {};
  }

  function pinsOf(run: string): Promise<Pins> {
    const known = byParent.get(run) ?? readPins(run);
    byParent.set(run, known);
    known.catch(() => byParent.delete(run));
    return known;
  }

  const finder = (pins: Pins): FindWorkflow =>
    async function find(name) {
      const digest = Object.hasOwn(pins, name) ? pins[name] : undefined;
      if (digest === undefined) return library.all().get(name)?.workflow;
      return (await journal.value(digest)) as unknown as Workflow | undefined;
    };

  return {
    /** Returns the definition of a new run; with a parent, the one that is pinned there. */
    async definitionOf(name: string, parent: string | undefined): Promise<PinnedDefinition> {
      const find = finder(parent === undefined ? {} : await pinsOf(parent));
      const workflow = await find(name);
      if (workflow) return { workflow, subWorkflows: await subWorkflowsOf(workflow, find) };
      const known = library.all();
      const broken = known.get(name);
      throw broken ? invalidWorkflow(broken) : unknownWorkflow(name, [...known.keys()]);
    },
  };
}

/** Collects the workflows that a definition may call, those that they call included. */
async function subWorkflowsOf(workflow: Workflow, find: FindWorkflow): Promise<Readonly<Record<string, Workflow>>> {
  const found = new Map<string, Workflow>();
  const open = [workflow];
  for (let next = open.pop(); next; next = open.pop()) {
    for (const name of subNames(next)) {
      if (found.has(name)) continue;
      const one = await find(name);
      if (!one) continue; // The step fails when it is executed.
      found.set(name, one);
      open.push(one);
    }
  }
  return Object.fromEntries(found);
}

function subNames(workflow: Workflow): readonly string[] {
  const { tools, workflows } = namesCalledBy(workflow);
  // A tool without a server may be a workflow. To pin one that is not called does no harm.
  return [...workflows, ...tools.map((tool) => workflowOfTool(tool) ?? tool)];
}
