import type { Json, JsonObject } from '../core/call.ts';
import type { RunCode } from '../core/code.ts';
import type { RunError } from '../core/records/run.ts';
import type { Mapping, Step, StepBase, Workflow } from './definition/canonical.ts';
import { RunInterrupted } from './run/durable.ts';
import { MemoryDurable, type MemoryOptions } from './run/fixtures.ts';
import { interpret, RunFailure } from './run/interpret.ts';
import type { ToolResponse, World } from './steps/fixtures.ts';

/** The end of a simulated run. `suspended`: all its operations wait. `crashed`: it met the injected crash. */
export interface SimulatedEnd {
  readonly status: 'succeeded' | 'failed' | 'cancelled' | 'compensation_failed' | 'suspended' | 'crashed';
  readonly output?: Json;
  readonly error?: RunError;
  readonly stepsExecuted?: number;
}

/** A run over a journal in memory, after its end. */
export interface Simulation extends SimulatedEnd {
  readonly durable: MemoryDurable;
  /** The tools that were called, in order. */
  readonly tools: readonly string[];
}

export interface SimulateOptions extends MemoryOptions {
  readonly input?: JsonObject;
  readonly runCode?: RunCode;
}

const NO_CODE: RunCode = () => Promise.reject(new Error('This test runs no code.'));

/** Interprets a workflow over a journal in memory and a virtual clock. */
export async function simulate(workflow: Workflow, world: World, options: SimulateOptions = {}): Promise<Simulation> {
  const { input = {}, runCode = NO_CODE } = options;
  const durable = new MemoryDurable(world, options);
  let isOver = false;
  const running = interpret(workflow, input, { durable, runCode }).then(
    (done): SimulatedEnd => ({ status: 'succeeded', ...done }),
    failedRun,
  );
  const onEnd = () => {
    isOver = true;
  };
  running.then(onEnd, onEnd);
  await durable.drive(() => isOver);
  const isSuspended = !isOver;
  if (isSuspended) durable.interrupt();
  const made = await running;
  const tools = durable.calls.map(({ tool }) => tool);
  return { ...made, ...(isSuspended && { status: 'suspended' as const }), durable, tools };
}

function failedRun(thrown: unknown): SimulatedEnd {
  if (thrown instanceof RunInterrupted) return { status: 'crashed' };
  if (!(thrown instanceof RunFailure)) throw thrown;
  const { status, error, stepsExecuted } = thrown;
  return { status, error, stepsExecuted };
}

/** Creates a rich workflow of steps. */
export const aWorkflow = (steps: readonly Step[], rest: Partial<Workflow> = {}): Workflow => ({
  ...{ heddle: 1, name: 'test', form: 'rich', wallMs: 3_600_000, steps },
  ...rest,
});

/** Creates a step that stops the run when it fails. */
export function aStep<K extends Step['kind']>(
  kind: K,
  rest: Omit<Extract<Step, { readonly kind: K }>, 'kind' | 'onError'> & Partial<Pick<StepBase, 'onError'>>,
): Step {
  return { kind, onError: 'stop', ...rest } as unknown as Step;
}

/** Creates a tool step with an input of constants. */
export const aCallStep = (id: string, rest: Partial<StepBase> & { readonly input?: JsonObject } = {}): Step => {
  const { input = {}, ...base } = rest;
  return aStep('tool', { id, tool: id, input: { value: input }, ...base });
};

/** Creates a reference of its text without `$`: `first.result.0`. `*` maps over a list. */
export function ref(text: string): Mapping {
  const [name = '', ...parts] = text.split('.');
  return { ref: { name, parts: parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part)), text: `$${text}` } };
}

/** Creates an expression in which `$name` is a name of the scope. */
export const cel = (source: string) => ({ cel: source.replace(/\$([\w-]+)/g, 'scope["$1"]') });

/** Responds by tool; a list has one response per attempt. The default result is the input and the name of the tool. */
export function world(
  responses: Readonly<Record<string, ToolResponse | readonly ToolResponse[]>> = {},
  rest: Partial<World> = {},
): World {
  return {
    tool({ tool, attempt, input }) {
      const found = responses[tool] ?? { result: { tool, ...input } };
      return (Array.isArray(found) ? found[attempt - 1] : found) as ToolResponse;
    },
    ...rest,
  };
}
