import type { ResolvedCall } from '../../core/call.ts';
import type { RunCode } from '../../core/code.ts';
import type { RunFollower } from '../../core/records/workflow-api.ts';
import { spanAbove, traceparentBelow } from '../../core/traceparent.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import type { RunEngine } from '../../workflow/run/engine.ts';
import type { RunParts } from '../../workflow/run/run-parts.ts';
import { startRun } from '../../workflow/run/start-run.ts';
import type { WorkflowLibrary } from '../workflows/workflow-library.ts';
import type { WorkflowParts } from '../workflows/workflow-parts.ts';
import type { WantedRun } from './begin-run.ts';
import type { CallWorkflowOptions } from './call-workflow.ts';
import { definitionPins } from './definition-pins.ts';
import { type LeftRuns, type LeftRunsOptions, leftRuns } from './left-runs.ts';
import { openEngine, retainRuns } from './open-engine.ts';
import { pendingApproval, runApprovals } from './run-approvals.ts';
import { type RunCallers, runCallers } from './run-caller.ts';
import type { RunSessions } from './run-sessions.ts';
import type { RunWatch } from './run-watch.ts';
import type { RunsApiOptions } from './runs-api.ts';
import { doubtsOf } from './steps-in-doubt.ts';
import { takeOver } from './take-over.ts';

export interface RunHostOptions {
  readonly parts: WorkflowParts;
  readonly watch: RunWatch;
  readonly sessions: RunSessions;
  readonly library: WorkflowLibrary;
  /** By call id: the options of starts whose calls are in flight. */
  readonly wanted: ReadonlyMap<string, WantedRun>;
}

/** The execution of runs in this process. The engine is opened with the first run. */
export interface RunHost
  extends Pick<RunsApiOptions, 'engine' | 'doubtsOf' | 'retryRun' | 'callers' | 'requireOwnOrigin'> {
  readonly calls: Pick<CallWorkflowOptions, 'begin' | 'cancel' | 'isOwn' | 'left'>;
  close(): Promise<void>;
}

/** The capabilities of a program that answers input requests itself. */
const ALL_INPUT = { form: true, url: true, sampling: true, samplingTools: true, roots: true } as const;

export function openRunHost({ parts, watch, sessions, library, wanted }: RunHostOptions): RunHost {
  const { store, wallClock, origin } = parts;
  const { journal } = watch;
  // Replicas of one Postgres store are identical by definition: there the origin is stored and selects nothing.
  const ownOrigin = store.runQueue && origin;
  const pins = definitionPins(journal, library);
  const callers = runCallers({ keys: store.keys, settings: () => parts.active().config.settings });
  let opened: Promise<RunEngine> | undefined;
  let stopRetention = () => {};

  function engine(): Promise<RunEngine> {
    if (!opened) {
      stopRetention = retainRuns(store.runs, wallClock);
      opened = runPartsOf(parts, watch, { callers, sessions }).then((own) => openEngine(parts, own));
      opened.catch(() => (opened = undefined)); // The next call tries again.
    }
    return opened;
  }

  function attend(run: StoredRun, { capabilities, caller }: ResolvedCall, follower: RunFollower & WantedRun): void {
    if (follower.detach) return;
    if (follower.onInput) sessions.follow(run.id, caller.capabilities ?? ALL_INPUT, follower.onInput);
    else sessions.attend(run.id, capabilities);
  }

  async function begin(call: ResolvedCall): Promise<StoredRun> {
    const { id: callId, target, input, caller, fence } = call;
    const follower = wanted.get(callId) ?? {};
    const { workflow, subWorkflows } = await pins.definitionOf(target.name, fence?.run);
    const run = await startRun(
      { journal, clock: wallClock },
      {
        ...{ workflow, subWorkflows, input, caller, callId, origin },
        ...(fence && { parent: { run: fence.run, path: fence.path } }),
        ...(call.options.timeoutMs !== undefined && { timeoutMs: call.options.timeoutMs }),
        ...(follower.detach && { detached: true }),
        ...(spanAbove(call) && { traceparent: traceparentBelow(call) }),
      },
    );
    attend(run, call, follower);
    await (await engine()).start(run.id);
    return run;
  }

  return {
    engine,
    callers,
    requireOwnOrigin: (run) => takeOver(run, { journal, own: ownOrigin, env: parts.env }),
    async retryRun(run, from, caller) {
      const { retryRun } = await import('../../workflow/run/retry-run.ts');
      return retryRun({ journal, clock: wallClock }, run, { from, caller, origin });
    },
    doubtsOf: (run) => doubtsOf(run, { journal, audit: store.audit }),
    calls: {
      begin,
      isOwn: callers.isOwn,
      left: leftRunsOf(parts, { journal, isOwn: callers.isOwn, origin: ownOrigin }),
      async cancel(run, by) {
        await journal.signal(run, { kind: 'cancel', by, detail: { reason: 'The caller cancelled its call.' } });
        await (await engine()).wake(run);
      },
    },
    async close() {
      stopRetention();
      await opened?.then(
        (open) => open.close(),
        () => {},
      );
    },
  };
}

const leftRunsOf = (
  { active, approvals }: WorkflowParts,
  found: Pick<LeftRunsOptions, 'journal' | 'isOwn' | 'origin'>,
): LeftRuns =>
  leftRuns({
    ...found,
    pendingApproval: (id) => pendingApproval(approvals.flow, id),
    keepOpenMs: async (approval) =>
      approval === undefined ? active().config.settings.approvals.keepOpenMs : approvals.api.keepOpenMs(approval),
  });

/** Loads the sandbox with the first code step. */
const loadAndRun: RunCode = async (request, host) => {
  const { runCode } = await import('../../agent/code/run-code.ts');
  return runCode(request, host);
};

/** Returns the parts that execute runs. */
async function runPartsOf(
  parts: WorkflowParts,
  { journal }: RunWatch,
  { callers, sessions }: { readonly callers: RunCallers; readonly sessions: RunSessions },
): Promise<RunParts> {
  const { store, wallClock, browse, dispatch, approvals } = parts;
  const { interpret } = await import('../../workflow/run/interpret.ts');
  return {
    journal,
    audit: store.audit,
    dispatch,
    describe: ({ caller, name, signal }) => browse.describe(caller, name, signal),
    callerOf: callers.callerOf,
    approvals: runApprovals(approvals.flow),
    inputOf: sessions.inputOf,
    execute: (workflow, input, { durable, run: { id, startedAt } }) =>
      interpret(workflow, input, { durable, runCode: loadAndRun, run: { id, startedAt } }),
    clock: wallClock,
  };
}
