import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Desk, deskWith } from '../../src/cli/commands/fixtures.ts';

const NOTES = join(import.meta.dirname, '..', 'servers', 'noting-server.mjs');

/** A desk with workflows, and a server `notes` that appends the arguments of each call to a file. */
export interface WorkflowDesk extends Desk {
  /** The arguments of the calls so far. */
  calls(): readonly string[];
}

/** Makes a trusted project with the texts of workflows by name, and further keys of heddle.json. */
export async function workflowDesk(
  workflows: Readonly<Record<string, string>>,
  config: object = {},
): Promise<WorkflowDesk> {
  const files = Object.entries(workflows).map(([name, text]) => [`project/.heddle/workflows/${name}.yaml`, text]);
  const notes = { command: process.execPath, args: [NOTES, 'calls'] };
  const whole = { mcpServers: { notes }, permissions: { allow: ['mcp__notes', 'mcp__workflow'] }, ...config };
  const desk = await deskWith({
    'project/calls': '',
    'project/heddle.json': whole,
    ...Object.fromEntries(files),
  });
  await desk.heddle(['trust', '--yes']);
  const calls = () => readFileSync(desk.path('project/calls'), 'utf8').trim().split('\n').filter(Boolean);
  return { ...desk, calls };
}
