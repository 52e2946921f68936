import type { Json, JsonObject } from '../../core/call.ts';

/**
 * A workflow in canonical form: plain JSON, the only form that is checked, stored and run. YAML, JSON, TypeScript and
 * the classic form are compiled to it. Defaults of the workflow are merged into its steps.
 *
 * A step sees the steps before it in its scope and in the scopes around it. The body of a fan-out or a loop and each
 * branch of `parallel` are scopes: their steps are not seen outside. The steps of `sequential`, `pipeline` and `switch`
 * belong to the scope around them. Ids are unique in a scope; the cases of one switch may repeat them. `until`, `while`
 * and `carry` see the steps of the last iteration, `output` and `compensate` those inside of their step.
 */
export interface Workflow {
  readonly heddle: 1;
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  /** The form of the source. References to steps of the classic form resolve in another way. */
  readonly form: 'rich' | 'classic';
  /** The JSON Schema of the input. */
  readonly input?: JsonObject;
  /** Default: the result of the last step that was executed. */
  readonly output?: Mapping;
  readonly var?: JsonObject;
  /** The longest time of a run. */
  readonly wallMs: number;
  readonly steps: readonly Step[];
}

/**
 * The way in which a value is computed. A reference keeps the type of its value; a template is text with expressions.
 * Nothing is ever substituted in a text and parsed again.
 */
export type Mapping =
  | { readonly value: Json }
  | { readonly ref: Reference }
  | { readonly cel: string }
  | { readonly template: readonly (string | { readonly cel: string })[] }
  | { readonly object: Readonly<Record<string, Mapping>> }
  | { readonly list: readonly Mapping[] };

/** `$search.result.hits[0].url`: the name `search`, then the parts of the path. `*` maps over a list. */
export interface Reference {
  readonly name: string;
  readonly parts: readonly (string | number | '*')[];
  /** The text of the source, for messages. */
  readonly text: string;
}

/** A condition. In CEL `$name` is written as `scope["name"]`. `truthy` is JavaScript's test, for the classic form only. */
export type StepCondition = { readonly cel: string } | { readonly truthy: Mapping };

/** A call of a tool: by public name, `server.tool` or a bare name. */
export interface ToolUse {
  readonly tool: string;
  readonly input: Mapping;
}

export interface Retry {
  /** The number of attempts after the first. */
  readonly max: number;
  readonly backoff: 'exponential' | 'fixed';
  readonly initialMs: number;
  readonly capMs: number;
  readonly jitter: boolean;
  /** The codes of errors that are retried in addition to those that are known to be safe; `isError` for error results. */
  readonly on?: readonly string[];
}

export interface StepBase {
  readonly id: string;
  readonly description?: string;
  readonly if?: StepCondition;
  /** The time of one attempt. */
  readonly timeoutMs?: number;
  /** The time of all attempts and the waits between them. */
  readonly totalTimeoutMs?: number;
  readonly retry?: Retry;
  readonly onError: 'stop' | 'skip' | 'fallback';
  /** Default with `fallback`: the classic value `{fallback: true, error}`. */
  readonly fallback?: Step | { readonly mapping: Mapping };
  /** Named fields beside `result`: `$search.hits`. */
  readonly output?: Readonly<Record<string, Mapping>>;
  /** Undoes this step if a later one stops the run. Its input may use `$self`. */
  readonly compensate?: ToolUse;
}

export type Step = StepBase &
  (
    | ToolStep
    | GroupStep
    | PipelineStep
    | ParallelStep
    | SwitchStep
    | FanoutStep
    | LoopStep
    | ApprovalStep
    | WaitStep
    | SubWorkflowStep
    | CodeStep
  );

export interface ToolStep extends ToolUse {
  readonly kind: 'tool';
  /** `auto`: the server treats calls with one key as one call. A mapping gives the key. Default: by the tool's facts. */
  readonly idempotency?: 'auto' | 'none' | Mapping;
  /** Default: `ask`. */
  readonly onInDoubt?: 'retry' | 'fail' | 'ask';
}

/** Steps in order; the result is that of the last one. */
export interface GroupStep {
  readonly kind: 'sequential';
  readonly steps: readonly Step[];
}

/** Steps and list operations in order. `$prev` is the previous result, `$item` an item of it. */
export interface PipelineStep {
  readonly kind: 'pipeline';
  readonly parts: readonly PipelinePart[];
}

export type PipelinePart =
  | { readonly step: Step }
  /** `each`: the mapping uses `$item`, so it is applied to each item of a list. */
  | { readonly transform: Mapping; readonly each: boolean }
  | { readonly filter: StepCondition }
  | { readonly enrich: ToolUse & { readonly as: string } };

export interface ParallelStep {
  readonly kind: 'parallel';
  readonly branches: readonly Branch[];
  /**
   * `all`: every branch succeeds. `first`: the first success. `majority`: more than half agree on `by`. `most`: more than
   * half succeed, the classic `majority`.
   */
  readonly mode: 'all' | 'first' | 'majority' | 'most';
  /** The value that is compared by `majority`; `$branch` is the branch. */
  readonly by?: Mapping;
  /** `keyed`: by branch id; `list`: in branch order; `winner`: `{winner, value}`. The classic `first` is a list of one. */
  readonly shape: 'keyed' | 'list' | 'winner';
  /** Permits `first` with branches that are not read-only. */
  readonly allowSideEffects?: boolean;
}

export interface Branch {
  readonly id: string;
  readonly steps: readonly Step[];
}

/** The first case whose condition holds. */
export interface SwitchStep {
  readonly kind: 'switch';
  readonly cases: readonly { readonly when: StepCondition; readonly steps: readonly Step[] }[];
  readonly else?: readonly Step[];
}

export interface FanoutStep {
  readonly kind: 'fanout';
  readonly items: Mapping;
  /** The name of the item; default `item`. `$index` is its place in the list. */
  readonly as: string;
  readonly steps: readonly Step[];
  readonly maxConcurrency: number;
  readonly tolerate?: { readonly count?: number; readonly percent?: number };
  /** Called once with all results; `$items` has them. */
  readonly merge?: ToolUse;
  /**
   * `report`: `{items, ok, failed, total}`; each of `$items` in `merge` has the steps of its body by id. `contents`: the
   * classic list of tool results; `$items` is the list of their contents.
   */
  readonly shape: 'report' | 'contents';
}

/** The classic form has `$var.iteration` and `$var.loopResults` (also without `var.`), the rich one `$loop`. */
export interface LoopStep {
  readonly kind: 'loop';
  /** `while` is tested before the body, `until` after it. */
  readonly test: { readonly while: StepCondition } | { readonly until: StepCondition };
  readonly maxIterations: number;
  /** At `maxIterations`: an error, or the classic quiet end. */
  readonly atMax: 'fail' | 'end';
  readonly delayMs?: number;
  readonly steps: readonly Step[];
  readonly carry?: Mapping;
  /** `last`: the last iteration's result; `list`: one result per iteration, the classic form. */
  readonly shape: 'last' | 'list';
}

export interface ApprovalStep {
  readonly kind: 'approval';
  readonly title: Mapping;
  readonly show?: Mapping;
  /** A form; its validated content is part of the result. */
  readonly schema?: JsonObject;
  readonly approvers?: readonly string[];
  readonly quorum: number;
  readonly expiresMs?: number;
  readonly onExpire: 'reject' | 'fail';
}

export interface WaitStep {
  readonly kind: 'wait';
  readonly for?: number;
  /** A time: RFC 3339 text or milliseconds. */
  readonly until?: Mapping;
}

export interface SubWorkflowStep {
  readonly kind: 'workflow';
  readonly workflow: string;
  readonly input: Mapping;
}

export interface CodeStep {
  readonly kind: 'code';
  /** TypeScript with erasable types, or JavaScript: the body of an async function. */
  readonly source: string;
  readonly tools: readonly string[];
  readonly input?: Mapping;
  readonly limits: { readonly wallMs: number; readonly memoryBytes: number; readonly calls: number };
}
