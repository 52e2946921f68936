import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { RunJournal } from '../../store/run-journal.ts';
import type { Workflow } from '../../workflow/definition/canonical.ts';
import { aCallStep, aStep, aWorkflow } from '../../workflow/fixtures.ts';
import type { WorkflowLibrary } from '../workflows/workflow-library.ts';
import { definitionPins } from './definition-pins.ts';

verifies('W5', 'pins the workflows that steps call as tools, in every way to name them', async () => {
  const child = aWorkflow([aCallStep('read')], { name: 'child' });
  const steps = ['mcp__workflow__child', 'workflow.child', 'child'].map((tool, at) => aStepOf(tool, at));
  for (const step of [...steps, aStep('workflow', { id: 's', workflow: 'child', input: { object: {} } })]) {
    const all = new Map(
      [
        ['parent', aWorkflow([step], { name: 'parent' })],
        ['child', child],
      ].map(entryOf),
    );
    const pins = definitionPins({} as RunJournal, { all: () => all } as unknown as WorkflowLibrary);
    expect(await pins.definitionOf('parent', undefined)).toMatchObject({ subWorkflows: { child } });
  }
});

const aStepOf = (tool: string, at: number) => aStep('tool', { id: `s${at}`, tool, input: { object: {} } });
const entryOf = ([name, workflow]: readonly (string | Workflow)[]) => [name, { workflow }] as const;
