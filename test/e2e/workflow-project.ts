import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Project, project, SERVERS } from './heddle-command.ts';

/** A project whose server `notes` appends the arguments of each call to the file `calls`, with workflows in YAML. */
export interface WorkflowProject extends Project {
  /** The arguments of the calls so far. */
  calls(): readonly string[];
}

export interface WorkflowProjectOptions {
  /** By name: the text of a file in `.heddle/workflows/`. */
  readonly workflows: Readonly<Record<string, string>>;
  /** Further keys of heddle.json. */
  readonly config?: object;
  /** Heddle's folder of another project, to share it. */
  readonly home?: string;
}

export function workflowProject({ workflows, config = {}, home }: WorkflowProjectOptions): WorkflowProject {
  const files = Object.entries(workflows).map(([name, text]) => [`.heddle/workflows/${name}.yaml`, text]);
  const one = project({ calls: '', 'heddle.json': {}, ...Object.fromEntries(files) }, { home });
  const calls = join(one.folder, 'calls');
  const notes = { command: process.execPath, args: [join(SERVERS, 'noting-server.mjs'), calls] };
  const whole = { mcpServers: { notes }, permissions: { allow: ['mcp__notes', 'mcp__workflow'] }, ...config };
  writeFileSync(join(one.folder, 'heddle.json'), JSON.stringify(whole));
  return { ...one, calls: () => readFileSync(calls, 'utf8').trim().split('\n').filter(Boolean) };
}
