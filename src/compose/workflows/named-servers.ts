import { realTimer } from '../../core/time.ts';
import { deniesServer } from '../../govern/decide.ts';
import { namesCalledBy } from '../../workflow/definition/steps-in.ts';
import { LIST_WAIT_MS } from '../browse.ts';
import type { WorkflowLibrary } from './workflow-library.ts';
import type { WorkflowParts } from './workflow-parts.ts';

type Parts = Pick<WorkflowParts, 'servers' | 'catalog' | 'active' | 'options'>;

/**
 * Connects the servers never seen whose tools workflows call, and waits for them like a list does: without their tools
 * a workflow counts as one that may do anything.
 */
export async function connectNamedServers(parts: Parts, library: WorkflowLibrary, signal: AbortSignal): Promise<void> {
  const { servers, catalog, active, options } = parts;
  const { listWaitMs = LIST_WAIT_MS } = options;
  if (listWaitMs === 0) return;
  const called = new Set(
    [...library.all().values()].flatMap(({ workflow }) => (workflow ? namesCalledBy(workflow).tools : [])),
  );
  const unknown = servers.status().filter(({ name }) => {
    const isNamed = [...called].some((tool) => tool.startsWith(`${name}.`) || tool.startsWith(`mcp__${name}__`));
    return isNamed && !catalog.knows(name) && !deniesServer(active().policy, name);
  });
  if (unknown.length === 0) return;
  const ended = new AbortController();
  const cancel = realTimer(Math.min(listWaitMs, LIST_WAIT_MS), () => ended.abort());
  const either = AbortSignal.any([signal, ended.signal]);
  await Promise.allSettled(unknown.map(({ name }) => servers.connect(name, either)));
  cancel();
}
