import type { Facts } from '../../core/call/facts.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import type { Workflow } from '../../workflow/definition/canonical.ts';

export interface DescribedWorkflow {
  readonly workflow: Workflow;
  readonly digest: string;
  readonly facts: Facts;
}

/** Returns the definition of the tool that runs a workflow. Another version of the workflow has another definition. */
export function workflowTool({ workflow, digest, facts }: DescribedWorkflow): JsonObject {
  const { name, description, input } = workflow;
  const { readOnly, destructive, idempotent, openWorld } = facts;
  return {
    name,
    description: description ?? `Runs the workflow ${name}.`,
    inputSchema: { ...input, type: 'object' },
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: openWorld,
    },
    execution: { taskSupport: 'optional' },
    _meta: { 'dev.heddle/tool': { facts: facts as unknown as Json }, 'dev.heddle/workflow': { digest } },
  };
}
