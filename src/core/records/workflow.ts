import type { Facts } from '../call/facts.ts';
import type { JsonObject } from '../call.ts';

/** A place in the source of a workflow. Lines and columns count from 1. */
export interface WorkflowPlace {
  readonly file?: string;
  readonly line: number;
  readonly column: number;
}

/** A problem of a workflow. Errors keep it from running; warnings do not. */
export interface WorkflowProblem {
  readonly level: 'error' | 'warning';
  /** `STEP_UNKNOWN`, `REFERENCE_FORWARD`, `YAML_TAG`, … */
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  /** The path of the step, if the problem is inside of one. */
  readonly path?: string;
  readonly at?: WorkflowPlace;
}

/** A workflow as its source has it: a file, an entry of the configuration, or a value that a program registered. */
export interface WorkflowSource {
  /** Names the workflow if its definition has no name. */
  readonly name?: string;
  readonly file?: string;
  /** The text of a file; or the value itself. */
  readonly text?: string;
  readonly value?: JsonObject;
  /** The place of a value in the configuration. */
  readonly at?: WorkflowPlace;
  /** The language of `text`. Default: by the name of the file. */
  readonly language?: 'yaml' | 'json';
}

/** A workflow that callers can run. */
export interface WorkflowSummary {
  readonly name: string;
  readonly description?: string;
  readonly digest: string;
  readonly steps: number;
  /** The schema of its input. */
  readonly input: JsonObject;
  /** The facts that follow from its steps; never safer than theirs. */
  readonly facts: Facts;
  readonly file?: string;
  readonly problems: readonly WorkflowProblem[];
}

/** The findings about one workflow: problems, and estimates of a run. */
export interface LintReport {
  readonly name: string;
  readonly file?: string;
  readonly problems: readonly WorkflowProblem[];
  readonly estimate: RunEstimate;
}

/** The least and the most calls of a run, and their cost. `maxCalls` is absent if it depends on the input. */
export interface RunEstimate {
  readonly minCalls: number;
  readonly maxCalls?: number;
  readonly minCost?: number;
  readonly maxCost?: number;
}

/** A step as a dry run shows it. No tool is called. */
export interface PlannedStep {
  readonly path: string;
  readonly kind: string;
  readonly tool?: string;
  /** The decision about a call now; absent for steps that call no tool. */
  readonly effect?: 'allow' | 'ask' | 'deny';
  readonly rule?: string;
  /** The input as far as it does not depend on earlier results. */
  readonly input?: JsonObject;
  /** The fields of the input that are known only when the run reaches the step; empty if none is known before. */
  readonly later?: readonly string[];
  /** How the known part of the input breaks the schema of the tool. */
  readonly problem?: string;
}

/** The plan of a run, without side effects. */
export interface DryRun {
  readonly workflow: string;
  readonly digest: string;
  readonly steps: readonly PlannedStep[];
  /** The paths of steps that need an approval. */
  readonly approvals: readonly string[];
  readonly problems: readonly WorkflowProblem[];
  readonly estimate: RunEstimate;
}
