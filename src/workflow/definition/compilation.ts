import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { WorkflowPlace, WorkflowProblem } from '../../core/records/workflow.ts';
import type { Retry, Step, StepBase, Workflow } from './canonical.ts';
import type { ReadDefinition } from './source/read-source.ts';
import type { SourcePath } from './source/source-tree.ts';
import type { StepLimits } from './step-limits.ts';

const MAX_PROBLEMS = 100;

/** A value of a definition, with its path and the step that it belongs to. */
export interface SourceValue {
  readonly value: Json;
  readonly path: SourcePath;
  /** The path of the step. */
  readonly step?: string;
  readonly in: Compilation;
}

/** The whole definition. */
export type RootValue = Pick<SourceValue, 'value' | 'path'>;

/** A workflow that was read, and the limits that it sets itself. */
export interface ReadWorkflow {
  readonly workflow: Omit<Workflow, 'name'>;
  readonly limits: StepLimits;
}

export interface Reported {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  readonly level?: 'error' | 'warning';
  /** Marks the name of the value instead of the value. */
  readonly part?: 'name';
}

/** The values that steps take over if they have none of their own. */
export interface StepDefaults {
  readonly timeoutMs?: number;
  readonly retry?: Retry;
  readonly onError: StepBase['onError'];
}

/** The state of compiling one definition: its problems, and the place that each canonical node comes from. */
export interface Compilation {
  readonly form: 'rich' | 'classic';
  /** Every name that the definition gives to a step, a branch or an item. */
  readonly names: ReadonlySet<string>;
  readonly defaults: StepDefaults;
  /** Reads a step of this form. `idFromParent` names a step that has no id of its own. */
  readStep(at: SourceValue, idFromParent?: string): Step | undefined;
  report(at: Pick<SourceValue, 'path' | 'step'>, problem: Reported): undefined;
  /** Remembers the source of a canonical node, and returns the node. */
  from<T extends object>(at: SourceValue, node: T): T;
}

/** Returns the place of a canonical node, or of the first of these keys that is written in it; undefined if it has none. */
export type Places = (node: object, ...keys: readonly string[]) => WorkflowPlace | undefined;

export interface OpenCompilation {
  compilation(how: Omit<Compilation, 'report' | 'from'>): Compilation;
  readonly report: Compilation['report'];
  readonly problems: readonly WorkflowProblem[];
  readonly places: Places;
  /** Returns the source of a canonical node. */
  readonly originOf: (node: object) => SourceValue | undefined;
}

export function openCompilation({ locate }: Pick<ReadDefinition, 'locate'>): OpenCompilation {
  const problems: WorkflowProblem[] = [];
  const origins = new WeakMap<object, SourceValue>();
  const report: Compilation['report'] = ({ path, step }, { part, level = 'error', ...problem }) => {
    if (problems.length >= MAX_PROBLEMS) return;
    const at = locate(path, part);
    problems.push({ level, ...problem, ...(step !== undefined && { path: step }), ...(at && { at }) });
  };
  const from = <T extends object>(at: SourceValue, node: T): T => {
    origins.set(node, at);
    return node;
  };
  return {
    compilation: (how) => ({ ...how, report, from }),
    report,
    problems,
    places: (node, ...keys) => {
      const origin = origins.get(node);
      if (!origin) return undefined;
      const { value, path } = origin;
      const key = isObject(value) ? keys.find((one) => Object.hasOwn(value, one)) : undefined;
      return locate(key === undefined ? path : [...path, key]);
    },
    originOf: (node) => origins.get(node),
  };
}

/** Returns a member of an object or an item of a list. */
export const childOf = (at: SourceValue, key: string | number, value: Json): SourceValue => ({
  ...at,
  value,
  path: [...at.path, key],
});
