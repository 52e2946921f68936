import { findIn } from '../../catalog/find.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Change } from '../../core/records/server-status.ts';
import type { Runs, Workflows } from '../../core/records/workflow-api.ts';
import type { FunctionServer } from '../../upstream/transports/connect-function.ts';
import { auditedChanges } from '../audited-change.ts';
import type { WantedRun } from '../runs/begin-run.ts';
import { workflowCaller } from '../runs/call-workflow.ts';
import { pickUpRuns } from '../runs/pick-up-runs.ts';
import { openRunHost } from '../runs/run-host.ts';
import { runSessions } from '../runs/run-sessions.ts';
import { untilEnded, watchRuns } from '../runs/run-watch.ts';
import { runsApi } from '../runs/runs-api.ts';
import { connectNamedServers } from './named-servers.ts';
import { workflowLibrary } from './workflow-library.ts';
import type { WorkflowParts } from './workflow-parts.ts';
import { workflowsApi } from './workflows-api.ts';

/** The workflows of a Heddle, open. */
export interface OpenWorkflows {
  /** The server whose tools are the workflows. */
  readonly server: FunctionServer;
  readonly workflows: Workflows;
  readonly runs: Runs;
  /** Compiles the workflows of a changed configuration. */
  refresh(): void;
  /** Executes the runs that other processes have left, from now on. */
  pickUpRuns(): Promise<void>;
  close(): Promise<void>;
}

const NAME = 'workflow';

/** Opens the workflows: their definitions, their tools and their runs. */
export function openWorkflows(parts: WorkflowParts): OpenWorkflows {
  const { store, active, closing, wallClock, workflowBuiltIn } = parts;
  const { registered } = workflowBuiltIn;
  const library = workflowLibrary({
    configured: () => active().config.workflows ?? [],
    registered,
    factsOf: factsIn(parts),
    isWorkflow: isWorkflowIn(parts),
  });
  const watch = watchRuns(store.runs);
  const sessions = runSessions({
    onChange: watch.changed,
    ended: async (run) => closing.aborted || untilEnded({ watch, run, signal: closing }),
  });
  const wanted = new Map<string, WantedRun>();
  const execution = openRunHost({ parts, watch, sessions, library, wanted });
  const audited = (area: string) => auditedChanges({ area, audit: store.audit, clock: wallClock });
  const { enter, ...workflows } = workflowsApi({
    library,
    registered,
    visibleTo: visibleNames(parts),
    publish: publisher(parts, library.refresh),
    describe: (by, tool, signal) => parts.browse.describe(by, tool, signal),
    decide: (by, target, sent) => active().decide(by, target, sent),
    clock: wallClock,
    audited: audited('workflows'),
  });
  void followTools(parts, library.refresh);
  return {
    server: {
      async tools(signal) {
        await connectNamedServers(parts, library, signal);
        return library.tools();
      },
      call: workflowCaller({ watch, sessions, closing, ...execution.calls }),
      watch: library.watch,
    },
    workflows,
    runs: runsApi({ ...parts, ...execution, watch, wanted, enter, audited: audited('runs') }),
    refresh: library.refresh,
    pickUpRuns: () => pickUpRuns({ journal: store.runs, library, closing, engine: execution.engine }),
    close: execution.close,
  };
}

/** Finds the facts of a tool in the shared catalog, by any name that a call accepts. */
const factsIn =
  ({ catalog }: Pick<WorkflowParts, 'catalog'>) =>
  (name: string) => {
    try {
      return findIn(catalog.current(), { kind: 'tool', name }, () => true)?.facts;
    } catch {
      return undefined; // The name is ambiguous, and so are its facts.
    }
  };

/** Finds out that no other tool has a name. It cannot while the tools of a server are not known. */
const isWorkflowIn =
  ({ catalog, servers }: Pick<WorkflowParts, 'catalog' | 'servers'>) =>
  (tool: string): boolean => {
    const tools = catalog.current();
    const others = [tools.find(tool), ...tools.called(tool)].filter((target) => target && target.servers[0] !== NAME);
    return others.length === 0 && servers.status().every(({ name }) => name === NAME || catalog.knows(name));
  };

/** Returns the names of the workflows whose tools `by` may see: of the first 1000. */
const visibleNames =
  ({ browse }: Pick<WorkflowParts, 'browse'>) =>
  async (by: Caller): Promise<ReadonlySet<string>> => {
    const { items } = await browse.list(by, { kind: 'tool', server: NAME });
    return new Set(items.map(({ name }) => name));
  };

/** Returns the function that lists the tools again after a registration, so that a call finds them at once. */
const publisher = ({ active, readopt, servers, workflowBuiltIn }: WorkflowParts, refresh: () => void) =>
  async function publish(by: Caller): Promise<void> {
    const hasServer = active().configs.get(NAME)?.scope === 'builtin';
    const needsServer = workflowBuiltIn.configOf(active().config) !== undefined;
    if (hasServer !== needsServer) readopt();
    if (!hasServer || !needsServer) return;
    refresh();
    await servers.settleLists(NAME, { caller: by });
  };

/** Computes the facts of workflows again whenever tools of servers have changed. */
async function followTools({ changes, closing }: WorkflowParts, refresh: () => void): Promise<void> {
  const isOfTools = ({ kind, subject, detail }: Change) =>
    kind === 'catalog' && subject === 'tools' && isObject(detail) && (detail as JsonObject).user === undefined;
  for await (const _ of changes.read(closing, isOfTools)) refresh();
}
