import { strictest } from '../../catalog/entries/facts.ts';
import type { Facts } from '../../core/call/facts.ts';
import type { Workflow } from '../../workflow/definition/canonical.ts';
import { workflowOfTool } from '../../workflow/definition/find-cycle.ts';
import { namesCalledBy } from '../../workflow/definition/steps-in.ts';

/** Finds what a definition names. A name that is unknown now counts as the worst. */
export interface NamesInWorkflows {
  /** Returns the facts of a tool by any name that a call accepts. */
  factsOf(tool: string): Facts | undefined;
  /** Returns a workflow by its own name. */
  workflow(name: string): Workflow | undefined;
}

/** The facts of a tool that is not known: it may do anything. */
export const UNKNOWN_FACTS: Facts = {
  category: 'uncategorized',
  riskLevel: 'high',
  readOnly: false,
  destructive: true,
  idempotent: false,
  concurrent: false,
  openWorld: true,
  requiresApproval: false,
  builtin: false,
};

/** The facts of steps that call no tool. */
const QUIET: Facts = {
  category: 'workflow',
  riskLevel: 'low',
  readOnly: true,
  destructive: false,
  idempotent: true,
  concurrent: true,
  openWorld: false,
  requiresApproval: false,
  builtin: true,
};

/** Returns the facts of a workflow: of each the strictest over all tools that it may call, and the sum of their costs. */
export function workflowFacts(workflow: Workflow, names: NamesInWorkflows): Facts {
  // By name, each once: definitions that call one another often would take exponential time.
  const known = new Map<string, Facts>();

  function factsNamed(name: string): Facts {
    const before = known.get(name);
    if (before) return before;
    const found = names.workflow(name);
    if (!found) return UNKNOWN_FACTS;
    known.set(name, QUIET); // A cycle: the facts of this workflow are counted where it began.
    const facts = factsIn(found);
    known.set(name, facts);
    return facts;
  }

  function factsIn(definition: Workflow): Facts {
    const { tools, workflows } = namesCalledBy(definition);
    const called = [
      ...workflows.map(factsNamed),
      ...tools.map((tool) => {
        const name = workflowOfTool(tool);
        return name === undefined ? (names.factsOf(tool) ?? UNKNOWN_FACTS) : factsNamed(name);
      }),
    ];
    const cost = called.reduce((sum, { costPerCall = 0 }) => sum + costPerCall, 0);
    return { ...ofWhole(strictest([QUIET, ...called])), ...(cost > 0 && { costPerCall: cost, paidBySteps: true }) };
  }

  known.set(workflow.name, QUIET);
  return factsIn(workflow);
}

/** Leaves out the facts that hold for each call of a step by itself: limits of time and rate, and its own approval. */
function ofWhole(facts: Facts): Facts {
  const { timeoutMs, rateLimit, hedgeAfterMs, approval, isCategoryClaimed, forManagedRules, ...kept } = facts;
  return { ...kept, category: 'workflow', ...(forManagedRules && { forManagedRules: ofWhole(forManagedRules) }) };
}
