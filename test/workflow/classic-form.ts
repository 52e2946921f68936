export interface ClassicTool {
  /** A branch of a `parallel` step may leave `type` and `id` out. */
  readonly type?: 'sequential';
  readonly id?: string;
  readonly toolName: string;
  readonly inputMapping?: Readonly<Record<string, string>>;
  readonly outputMapping?: Readonly<Record<string, string>>;
  readonly timeout?: number;
}
export interface ClassicParallel {
  readonly type: 'parallel';
  readonly id: string;
  readonly branches: readonly StepOrSteps[];
  readonly mergeStrategy: 'first' | 'all' | 'majority';
  readonly outputMapping?: Readonly<Record<string, string>>;
  readonly timeout?: number;
}
export interface ClassicConditional {
  readonly type: 'conditional';
  readonly id: string;
  readonly condition: string;
  readonly ifTrue: StepOrSteps;
  readonly ifFalse?: StepOrSteps;
  readonly outputMapping?: Readonly<Record<string, string>>;
}
export interface ClassicFanout {
  readonly type: 'fanout';
  readonly id: string;
  readonly toolName: string;
  readonly splitExpression: string;
  readonly maxConcurrency?: number;
  readonly mergeTool?: string;
  readonly outputMapping?: Readonly<Record<string, string>>;
}
export interface ClassicLoop {
  readonly type: 'loop';
  readonly id: string;
  readonly condition: string;
  readonly maxIterations: number;
  readonly body: StepOrSteps;
  readonly outputMapping?: Readonly<Record<string, string>>;
}
export interface ClassicPipeline {
  readonly type: 'pipeline';
  readonly id: string;
  readonly outputMapping?: Readonly<Record<string, string>>;
  readonly steps: readonly PipelinePart[];
}
export interface Enrich {
  readonly toolName: string;
  readonly inputMapping: Readonly<Record<string, string>>;
  readonly as: string;
}
export type PipelinePart =
  | { readonly transform: string | Readonly<Record<string, string>> }
  | { readonly filter: string }
  | { readonly enrich: Enrich }
  | { readonly source: ClassicStep }
  | { readonly sink: ClassicStep }
  | ClassicStep;
export type ClassicStep =
  | ClassicTool
  | ClassicParallel
  | ClassicConditional
  | ClassicFanout
  | ClassicLoop
  | ClassicPipeline;
export type StepOrSteps = ClassicStep | readonly ClassicStep[];
export interface ClassicWorkflow {
  readonly name: string;
  readonly description: string;
  readonly steps: readonly ClassicStep[];
  readonly errorHandling?: 'stop' | 'skip' | 'fallback';
}
