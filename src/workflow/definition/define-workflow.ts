import type { Json, JsonObject } from '../../core/call.ts';
import type { WorkflowSource } from '../../core/records/workflow.ts';

/** A duration: `500ms`, `20s`, `30m`, `1h`, `2d`. */
export type DurationText = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;
/** A size: `512KiB`, `64MiB`. */
export type SizeText = `${number}${'B' | 'KiB' | 'MiB' | 'GiB'}`;
/** A bare expression in CEL, such as `$search.result.total > 0`. */
export type ExpressionText = string | boolean;
/** The input of a tool: an object, or a reference or expression that gives one. */
export type InputMapping = JsonObject | `$${string}`;

/** A call of a tool. */
export interface ToolUseInput {
  tool: string;
  input?: InputMapping;
}

export interface RetryInput {
  /** Attempts after the first. */
  max: number;
  backoff?: 'exponential' | 'fixed';
  initial?: DurationText;
  cap?: DurationText;
  jitter?: boolean;
  /** Further error codes that are retried. */
  on?: readonly string[];
}

/** The keys of every step. */
export interface StepOptions {
  description?: string;
  if?: ExpressionText;
  /** Time of one attempt. */
  timeout?: DurationText;
  /** Time of all attempts. */
  totalTimeout?: DurationText;
  retry?: RetryInput;
  onError?: 'stop' | 'skip' | 'fallback';
  /** A step, or a value. */
  fallback?: UnnamedStepInput | Json;
  output?: JsonObject;
  compensate?: ToolUseInput;
}

export interface ToolStepInput extends ToolUseInput {
  /** `auto`, `none`, or a reference or expression that gives the key. */
  idempotency?: 'auto' | 'none' | `$${string}`;
  onInDoubt?: 'retry' | 'fail' | 'ask';
}

export interface ParallelStepInput {
  /** Branches by id, or steps whose ids are those of the branches. */
  parallel: Readonly<Record<string, UnnamedStepInput | readonly StepInput[]>> | readonly StepInput[];
  mode?: 'all' | 'first' | 'majority';
  by?: ExpressionText;
  allowSideEffects?: boolean;
}

export interface SwitchStepInput {
  switch: readonly { when: ExpressionText; then: StepInput | readonly StepInput[] }[];
  else?: StepInput | readonly StepInput[];
}

export interface FanoutStepInput {
  fanout: {
    items: ExpressionText | readonly Json[];
    as?: string;
    do: StepInput | readonly StepInput[];
    maxConcurrency?: number;
    tolerate?: { count?: number; percent?: number };
    merge?: ToolUseInput;
  };
}

export interface LoopStepInput {
  loop: {
    maxIterations: number;
    do: StepInput | readonly StepInput[];
    delay?: DurationText;
    carry?: Json;
  } & ({ while: ExpressionText } | { until: ExpressionText });
}

/** A part of a pipeline: a step, or an operation on the previous result. */
export type PipelinePartInput =
  | StepInput
  | { transform: Json }
  | { filter: ExpressionText }
  | { enrich: ToolUseInput & { as?: string } };

export interface ApprovalStepInput {
  approval: {
    title: string;
    show?: Json;
    /** The JSON Schema of a form. */
    schema?: JsonObject;
    /** `role:approver`, `key:ci`, `local:anna`, `<issuer>#<sub>`. */
    approvers?: readonly string[];
    quorum?: number;
    expires?: DurationText;
    onExpire?: 'reject' | 'fail';
  };
}

export interface CodeStepInput {
  code: ({ ts: string } | { js: string }) & {
    tools?: readonly string[];
    input?: InputMapping;
    limits?: { wall?: DurationText; memory?: SizeText; calls?: number };
  };
  input?: InputMapping;
}

/** A step without an id: a branch or a fallback has the id of its place. */
export type UnnamedStepInput = StepOptions & { id?: string } & (
    | ToolStepInput
    | { sequential: StepInput | readonly StepInput[] }
    | { pipeline: readonly PipelinePartInput[] }
    | ParallelStepInput
    | SwitchStepInput
    | FanoutStepInput
    | LoopStepInput
    | ApprovalStepInput
    | { wait: { for: DurationText } | { until: string } }
    | { workflow: string; input?: InputMapping }
    | CodeStepInput
  );

export type StepInput = UnnamedStepInput & { id: string };

/** The definition of a workflow, in the rich form. */
export interface WorkflowInput {
  name: string;
  version?: string;
  description?: string;
  /** The JSON Schema of the input. */
  input?: JsonObject;
  /** Default: the result of the last step. */
  output?: Json;
  /** Constants: `$var.name`. */
  var?: JsonObject;
  defaults?: Pick<StepOptions, 'timeout' | 'retry' | 'onError'>;
  limits?: { wall?: DurationText; steps?: number; nesting?: number; branches?: number };
  steps: readonly StepInput[];
}

/** Defines a workflow in TypeScript. The result can be run, registered, or exported by a file of `.heddle/workflows`. */
export const defineWorkflow = (definition: WorkflowInput): WorkflowSource & { readonly value: JsonObject } => ({
  name: definition.name,
  value: { heddle: 1, ...definition } as unknown as JsonObject,
});
