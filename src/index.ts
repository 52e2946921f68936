import type { JsonObject } from './core/call.ts';
import { withPlainNumbers } from './core/exact-numbers.ts';
import type { Category } from './core/records/listing.ts';
import type { NotificationFilter, NotificationHandler } from './core/records/notification.ts';
import type { Change } from './core/records/server-status.ts';
import {
  type ApprovalApi,
  type ApprovalNeed,
  approvalNeed,
  type NeedOptions,
  programApprovals,
} from './library/approval-api.ts';
import { checkOptions, type OptionKeys, SIGNAL_KEYS, type SignalOptions } from './library/check-options.ts';
import { capabilitiesOfHost, HOOK_KEYS, type HostOptions } from './library/host-input.ts';
import { CALL_KEYS, type CallOptions, type CallResult, send, toLibraryCall } from './library/library-call.ts';
import type { CallToolResult } from './library/mcp-results.ts';
import { PROGRAM } from './library/program.ts';
import { listAll, type ResourceApi, resourceApi } from './library/resource-api.ts';
import { type RunApi, runApi } from './library/run-api.ts';
import { type ServerApi, serverApi } from './library/server-api.ts';
import { type SignInApi, signInApi } from './library/sign-in-api.ts';
import { type StatsApi, statsApi } from './library/stats-api.ts';
import { type FoundTool, type Tool, type ToolFilter, type ToolSearchOptions, toTool } from './library/tool.ts';
import { type HeddleOptions, openHeddle as open } from './open-heddle.ts';
import type { ProgramServer } from './upstream/lifecycle/programmatic-servers.ts';

export {
  type ConfigSource,
  environmentSource as environment,
  fileSource as config,
  manualSource as manual,
  standardSource as standard,
} from './config/config-source.ts';
export type { Facts } from './core/call/facts.ts';
export type { Choice, Field } from './core/call/form.ts';
export type { InputRequest, InputResponse, Json, JsonObject, Progress } from './core/call.ts';
export type { ErrorCode, Fault } from './core/error-codes.ts';
export { HeddleError, UpstreamError } from './core/errors.ts';
export type {
  Approval,
  ApprovalDecision,
  ApprovalQuery,
  ApprovalStage,
  ApprovalStatus,
  ApprovalSubject,
  StandingApproval,
  StandingWish,
} from './core/records/approval.ts';
export type { CallStats } from './core/records/call-stats.ts';
export type {
  HookContext,
  HookEvent,
  HookedCall,
  HookFunction,
  HookFunctions,
  HookVerdict,
} from './core/records/hook.ts';
export type { Category, Page } from './core/records/listing.ts';
export type { Metrics, MetricsRow } from './core/records/metrics.ts';
export type { Notification, NotificationFilter, NotificationHandler } from './core/records/notification.ts';
export type {
  Run,
  RunError,
  RunEvent,
  RunLog,
  RunOrigin,
  RunQuery,
  RunResolution,
  RunResult,
  RunStatus,
  StepInDoubt,
} from './core/records/run.ts';
export type {
  ApprovalChange,
  CatalogChange,
  Change,
  ConfigChange,
  ServerChange,
  ServerEvent,
  ServerStatus,
} from './core/records/server-status.ts';
export type {
  BegunSignIn,
  ForgottenSignIn,
  OpenRedirect,
  RedirectNeed,
  SignIn,
  SignInState,
} from './core/records/sign-in.ts';
export type {
  DryRun,
  LintReport,
  PlannedStep,
  RunEstimate,
  WorkflowProblem,
  WorkflowSource,
  WorkflowSummary,
} from './core/records/workflow.ts';
export type { ApprovalApi, ApprovalNeed, ApproveOptions, NeedOptions, RejectOptions } from './library/approval-api.ts';
export type { SignalOptions } from './library/check-options.ts';
export type {
  ApprovalResponse,
  Elicitation,
  ElicitationContext,
  ElicitationResponse,
  HostOptions,
  Sampling,
} from './library/host-input.ts';
export type { CallOptions, CallResult } from './library/library-call.ts';
export {
  type Annotations,
  type AudioContent,
  type CallToolResult,
  type Completion,
  type CompletionResult,
  type ContentBlock,
  type EmbeddedResource,
  type GetPromptResult,
  type ImageContent,
  type PromptMessage,
  type ReadResourceResult,
  type ResourceContents,
  type ResourceLink,
  type TextContent,
  text,
} from './library/mcp-results.ts';
export type {
  CompleteOptions,
  CompletionRef,
  Prompt,
  ReadResult,
  Resource,
  ResourceApi,
  ResourceTemplate,
  ServerFilter,
  Update,
} from './library/resource-api.ts';
export type { RunApi, WorkflowArgument, WorkflowRunOptions } from './library/run-api.ts';
export type { ServerApi } from './library/server-api.ts';
export type { BeginOptions, FinishOptions, SignInApi } from './library/sign-in-api.ts';
export type { StatsApi, StatsOptions } from './library/stats-api.ts';
export type { FoundTool, Tool, ToolFilter, ToolSearchOptions } from './library/tool.ts';
export type { InProcessServer, InProcessTransport, ProgramServer } from './upstream/lifecycle/programmatic-servers.ts';
export type { ProgramTransport, TransportServer } from './upstream/transports/bridge-transport.ts';
export { defineWorkflow, type StepInput, type WorkflowInput } from './workflow/definition/define-workflow.ts';

/** Options of `openHeddle`, and the functions that answer input requests and decide on approvals. */
export interface OpenOptions
  extends Omit<HeddleOptions, 'user' | 'scope' | 'clock' | 'signInUrl' | 'checkpoints' | 'recentFailuresMs'>,
    HostOptions {}

const FILTER_KEYS: OptionKeys<ToolFilter> = { server: true, category: true, signal: true };
const SEARCH_KEYS: OptionKeys<ToolSearchOptions> = { limit: true, signal: true };
const NOTIFICATION_KEYS: OptionKeys<NotificationFilter> = { server: true, method: true };
const OPEN_KEYS: OptionKeys<OpenOptions> = {
  config: true,
  configFile: true,
  sources: true,
  store: true,
  cwd: true,
  env: true,
  servers: true,
  trustProject: true,
  runs: true,
  watch: true,
  autoConnect: true,
  listWaitMs: true,
  onProblems: true,
  onElicitation: true,
  onSampling: true,
  onRoots: true,
  onApprovalRequest: true,
  hooks: true,
};

/** An open Heddle, for the program that embeds it. Calls pass the same stages as those of the gateway and the CLI. */
export interface HeddleClient extends ResourceApi, RunApi, StatsApi, AsyncDisposable {
  /** Lists tools. Starts only servers whose tools were never seen, and waits at most 2 s for them. */
  tools(filter?: ToolFilter): Promise<readonly Tool[]>;
  /** Calls a tool by public name, `server.tool`, or its own name if only one server has it. Throws `HeddleError`. */
  call(name: string, input?: JsonObject, options?: CallOptions): Promise<CallResult>;
  /** Tells whether a call would need an approval, and why. Calls nothing and writes no record. Hooks do not run. */
  requiresApproval(name: string, input?: JsonObject, options?: NeedOptions): Promise<ApprovalNeed>;
  readonly catalog: {
    /** Returns a tool by any name that `call` takes, and starts its server if needed. Throws NAME_UNKNOWN or NAME_AMBIGUOUS. */
    describe(name: string, options?: SignalOptions): Promise<Tool>;
    /** Returns the tools that match a text best: by name, then by words of the name, then of the description. */
    search(text: string, options?: ToolSearchOptions): Promise<readonly FoundTool[]>;
    categories(options?: SignalOptions): Promise<readonly Category[]>;
  };
  readonly servers: ServerApi<ProgramServer>;
  readonly signIns: SignInApi;
  readonly approvals: ApprovalApi;
  /** Reads changes of servers, the catalog and the configuration from now on, until the signal aborts or Heddle closes. */
  changes(options?: SignalOptions): AsyncIterable<Change>;
  /**
   * Calls `handler` with notifications of servers from now on: log messages, changed lists and resources, and custom ones.
   * The returned function ends that, and so does `signal`.
   *
   * @example
   * heddle.onNotification({ method: 'notifications/message' }, ({ server, params }) => console.log(server, params.data));
   */
  onNotification(filter: NotificationFilter, handler: NotificationHandler, options?: SignalOptions): () => void;
  /** Closes every connection and ends every process that was started. */
  close(): Promise<void>;
}

/**
 * Opens Heddle with the configuration of the project and the user, or with `config`.
 * Servers connect when they are first needed, not now.
 *
 * @example
 * await using heddle = await openHeddle();
 * const { value } = await heddle.call('filesystem.fs_read_file', { path: 'README.md' });
 * console.log(text(value));
 */
export async function openHeddle(openOptions?: OpenOptions): Promise<HeddleClient> {
  const options = checkOptions('openHeddle', openOptions, OPEN_KEYS);
  checkOptions('hooks', options.hooks, HOOK_KEYS);
  const capabilities = capabilitiesOfHost(options);
  const heddle = await open({ ...options, ...(capabilities && { user: { principal: PROGRAM.id, capabilities } }) });
  const close = () => heddle.close();
  return {
    tools: async (filter) => (await listAll(heddle, 'tool', checkOptions('tools', filter, FILTER_KEYS))).map(toTool),
    async call(name, input = {}, callOptions) {
      const call = toLibraryCall({ kind: 'tool', name, input }, checkOptions('call', callOptions, CALL_KEYS));
      const result = await send(heddle, call, options);
      return { ...result, value: result.value as CallToolResult };
    },
    ...resourceApi(heddle, options),
    ...runApi(heddle, options),
    ...statsApi(heddle),
    requiresApproval: (name, input, needOptions) => approvalNeed(heddle, { name, input }, needOptions),
    catalog: {
      async describe(name, describeOptions) {
        const { signal = never() } = checkOptions('catalog.describe', describeOptions, SIGNAL_KEYS);
        return toTool(await heddle.catalog.describe(PROGRAM, name, signal));
      },
      async search(text, searchOptions) {
        const { limit, signal } = checkOptions('catalog.search', searchOptions, SEARCH_KEYS);
        const hits = await heddle.catalog.search(PROGRAM, { text, signal, ...(limit !== undefined && { limit }) });
        return hits.map(({ target, score, reason }) => ({ ...toTool(target), score, reason }));
      },
      async categories(categoryOptions) {
        const { signal } = checkOptions('catalog.categories', categoryOptions, SIGNAL_KEYS);
        return heddle.catalog.categories(PROGRAM, signal);
      },
    },
    servers: serverApi(heddle),
    signIns: signInApi(heddle),
    approvals: programApprovals(heddle),
    changes(changesOptions) {
      const { signal = never() } = checkOptions('changes', changesOptions, SIGNAL_KEYS);
      return heddle.changes(PROGRAM, signal);
    },
    onNotification(filter, handler, notificationOptions) {
      checkOptions('onNotification', filter, NOTIFICATION_KEYS);
      const { signal } = checkOptions('onNotification', notificationOptions, SIGNAL_KEYS);
      if (signal?.aborted) return () => {};
      const end = heddle.onNotification(PROGRAM, filter, (notification) => handler(withPlainNumbers(notification)));
      signal?.addEventListener('abort', end, { once: true });
      return () => {
        signal?.removeEventListener('abort', end);
        end();
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const never = (): AbortSignal => new AbortController().signal;
