import type { Json, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import type { Run, RunEvent, RunQuery, RunResolution, RunResult, StepInDoubt } from '../core/records/run.ts';
import type { DryRun, LintReport, WorkflowSource, WorkflowSummary } from '../core/records/workflow.ts';
import type { RunFollower, WorkflowChoice } from '../core/records/workflow-api.ts';
import type { Heddle } from '../heddle.ts';
import { checkOptions, type OptionKeys, SIGNAL_KEYS, type SignalOptions } from './check-options.ts';
import { capabilitiesOfHost, type HostOptions, hostInput } from './host-input.ts';
import { copyAsJson } from './library-call.ts';
import { asAgent, PROGRAM } from './program.ts';
import { decideByHost } from './settle-by-host.ts';

/** Options of a run. */
export interface WorkflowRunOptions {
  /** The agent of the program that runs the workflow, as in `call`. Its steps are calls of this agent. */
  readonly agent?: string;
  /** Ends the run after this time. */
  readonly timeoutMs?: number;
  /** The same as `timeoutMs`. */
  readonly timeout?: number;
  /** Plans the run instead: resolves and checks what is known, and decides on each call. Calls no tool. */
  readonly dryRun?: boolean;
  /** Returns once the run is stored. A process with `runs: true` executes it after this one has ended. */
  readonly detach?: boolean;
  /** Cancels the run. Its compensations run before the result is returned. */
  readonly signal?: AbortSignal;
  /** Receives each event of the run's history. */
  readonly onEvent?: (event: RunEvent) => void;
}

/** A workflow: the name of a known one, a definition as `defineWorkflow` or a file has it, or its text. */
export type WorkflowArgument = string | JsonObject | WorkflowSource;

/** Workflows, and runs of them. */
export interface RunApi {
  /**
   * Runs a workflow and returns its result, also if it failed. Throws a `HeddleError` if no run was begun: the workflow is
   * unknown or invalid, a rule denies it, or its input does not fit.
   *
   * @example
   * const { success, output } = await heddle.run('research-digest', { query: 'looms' });
   */
  run(
    workflow: WorkflowArgument,
    input: JsonObject | undefined,
    options: WorkflowRunOptions & { dryRun: true },
  ): Promise<DryRun>;
  run(workflow: WorkflowArgument, input?: JsonObject, options?: WorkflowRunOptions): Promise<RunResult>;
  /** The same as `workflows.register`. */
  registerWorkflow(workflow: JsonObject | WorkflowSource): Promise<WorkflowSummary>;
  readonly workflows: {
    list(): Promise<readonly WorkflowSummary[]>;
    /** Adds a workflow, which is a tool from then on. Throws WORKFLOW_INVALID with the first problem, or NAME_TAKEN. */
    register(workflow: JsonObject | WorkflowSource): Promise<WorkflowSummary>;
    /** Removes a registered workflow. Its runs go on. */
    unregister(name: string): Promise<void>;
    /** Checks a workflow against the tools that it calls. Calls none. */
    lint(workflow: WorkflowArgument, options?: SignalOptions): Promise<LintReport>;
    /** Draws a workflow as a Mermaid flowchart. */
    toMermaid(workflow: WorkflowArgument): Promise<string>;
  };
  readonly runs: {
    /** Lists runs, the newest first. Default: all. */
    list(query?: RunQuery): Promise<readonly Run[]>;
    /** Finds a run by its id or the beginning of it. */
    get(
      id: string,
    ): Promise<Run & { readonly input: Json; readonly output?: Json; readonly doubts: readonly StepInDoubt[] }>;
    /** Returns the history of a run, from the event after `after` on. */
    events(id: string, after?: number): Promise<readonly RunEvent[]>;
    /** Waits until a run has ended, in whichever process. An abort ends the wait, not the run. */
    wait(id: string, options?: SignalOptions): Promise<RunResult>;
    /** Requests cancellation. Compensations run before the run ends. */
    cancel(id: string, reason?: string): Promise<Run>;
    /** Executes a run in this process. Throws RUN_OWNED if a living process owns it, USAGE_INVALID for another origin. */
    resume(id: string): Promise<Run>;
    /** Starts a new run that takes over the results of all steps before `from`. */
    retry(id: string, from: string): Promise<Run>;
    /** Settles a call in doubt. */
    resolve(id: string, resolution: RunResolution): Promise<Run>;
  };
}

const RUN_KEYS: OptionKeys<WorkflowRunOptions> = {
  agent: true,
  timeoutMs: true,
  timeout: true,
  dryRun: true,
  detach: true,
  signal: true,
  onEvent: true,
};
const QUERY_KEYS: OptionKeys<RunQuery> = { status: true, workflow: true, limit: true };
const RESOLUTION_KEYS: OptionKeys<RunResolution> = { path: true, how: true, result: true, note: true };
const SOURCE_KEYS: readonly string[] = ['name', 'file', 'text', 'value', 'language'];

const never = (): AbortSignal => new AbortController().signal;

/** Returns workflows and runs for the embedding program. */
export function runApi(heddle: Pick<Heddle, 'workflows' | 'runs' | 'approvals'>, host: HostOptions): RunApi {
  const { workflows, runs } = heddle;
  const register = (workflow: JsonObject | WorkflowSource) =>
    workflows.register(PROGRAM, toChoice(workflow) as WorkflowSource);

  async function run(workflow: WorkflowArgument, input: JsonObject = {}, given?: WorkflowRunOptions) {
    const { agent, dryRun, signal = never(), detach, ...options } = checkOptions('run', given, RUN_KEYS);
    const by = asAgent(agent);
    const choice = toChoice(workflow);
    const sent = copyAsJson(typeof choice === 'string' ? choice : 'the workflow', input);
    if (dryRun) return withPlainNumbers(await workflows.plan(by, choice, sent, signal));
    const { timeoutMs = options.timeout } = options;
    const started = await runs.start(by, choice, sent, {
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(detach && { detach }),
      ...followerOf(heddle, host, { signal, agent, onEvent: options.onEvent }),
    });
    if (detach) return toBegun(started);
    const cancel = () => void runs.cancel(PROGRAM, started.id, 'The program aborted it.').catch(() => {});
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    try {
      return withPlainNumbers(await runs.settled(PROGRAM, started.id, never()));
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  return {
    run: run as RunApi['run'],
    registerWorkflow: register,
    workflows: {
      list: () => workflows.list(PROGRAM),
      register,
      unregister: (name) => workflows.unregister(PROGRAM, name),
      async lint(workflow, options) {
        const { signal = never() } = checkOptions('workflows.lint', options, SIGNAL_KEYS);
        return workflows.lint(PROGRAM, toChoice(workflow), signal);
      },
      toMermaid: async (workflow) => workflows.toMermaid(PROGRAM, toChoice(workflow)),
    },
    runs: {
      list: async (query) => runs.list(PROGRAM, checkOptions('runs.list', query, QUERY_KEYS)),
      get: async (id) => withPlainNumbers(await runs.get(PROGRAM, id)),
      events: async (id, after) => withPlainNumbers(await runs.events(PROGRAM, id, after)),
      async wait(id, options) {
        const { signal = never() } = checkOptions('runs.wait', options, SIGNAL_KEYS);
        return withPlainNumbers(await runs.settled(PROGRAM, id, signal));
      },
      cancel: (id, reason) => runs.cancel(PROGRAM, id, reason),
      resume: (id) => runs.resume(PROGRAM, id),
      retry: (id, from) => runs.retry(PROGRAM, id, from),
      resolve: async (id, resolution) =>
        runs.resolve(PROGRAM, id, checkOptions('runs.resolve', resolution, RESOLUTION_KEYS)),
    },
  };
}

interface Following {
  readonly agent: string | undefined;
  readonly signal: AbortSignal;
  readonly onEvent: WorkflowRunOptions['onEvent'];
}

/** Passes the input requests and approvals of a run to the functions of the program. */
function followerOf(heddle: Pick<Heddle, 'approvals'>, host: HostOptions, following: Following): RunFollower {
  const { signal, agent, onEvent } = following;
  const ask = capabilitiesOfHost(host) && hostInput(host, 'workflow', agent);
  const decide = (id: string) => decideByHost(heddle, { by: PROGRAM, id, host, signal });
  return {
    signal,
    ...(ask && { onInput: ({ inputRequests, server }, during) => ask(inputRequests, server, during) }),
    ...(host.onApprovalRequest && {
      async onApproval({ id }) {
        await decide(id);
        return {};
      },
    }),
    ...(onEvent && { onEvent: (event) => onEvent(withPlainNumbers(event)) }),
    // A failed decision leaves the approval pending: another approver can decide.
    ...(host.onApprovalRequest && { onStepApproval: (approval) => void decide(approval).catch(() => {}) }),
  };
}

/** Returns the result of a run that goes on without its program. */
const toBegun = ({ id: runId, status }: Run): RunResult => ({
  runId,
  status,
  success: false,
  output: null,
  executionTimeMs: 0,
  stepsExecuted: 0,
  logs: [],
});

/** Reads the argument of a program: a name, a source, or the definition itself. */
function toChoice(workflow: WorkflowArgument): WorkflowChoice {
  if (typeof workflow === 'string') return workflow;
  if (typeof workflow !== 'object' || workflow === null) {
    throw new HeddleError('USAGE_INVALID', 'A workflow is a name, a definition, or an object with its `text`.', {
      fix: 'Pass the name of a known workflow, or what `defineWorkflow` returns.',
    });
  }
  const isSource = Object.keys(workflow).every((key) => SOURCE_KEYS.includes(key));
  return isSource ? (workflow as WorkflowSource) : { value: workflow as JsonObject };
}
