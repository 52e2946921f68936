import type { Runs, Workflows } from '../../core/records/workflow-api.ts';
import type { OpenWorkflows } from './open-workflows.ts';
import type { WorkflowParts } from './workflow-parts.ts';

/** The workflows of a Heddle. Their code is loaded with the first workflow that is listed or run. */
export interface PreparedWorkflows {
  readonly api: { readonly workflows: Workflows; readonly runs: Runs };
  /** Suspends the runs of this process. */
  close(): Promise<void>;
}

const WORKFLOWS = ['list', 'get', 'register', 'unregister', 'lint', 'plan', 'toMermaid'] as const;
const RUNS = ['start', 'list', 'get', 'events', 'settled', 'cancel', 'resume', 'retry', 'resolve'] as const;

/** Prepares the workflows over open parts. With `runs: true` it picks up runs of other processes. */
export function prepareWorkflows(parts: Omit<WorkflowParts, 'closing'>): PreparedWorkflows {
  const closing = new AbortController();
  let opened: Promise<OpenWorkflows> | undefined;
  const open = () => {
    opened ??= import('./open-workflows.ts').then(({ openWorkflows }) =>
      openWorkflows({ ...parts, closing: closing.signal }),
    );
    return opened;
  };
  const onReload = () => void opened?.then(({ refresh }) => refresh()).catch(() => {}); // The call that needed it failed.
  parts.workflowBuiltIn.attach(async () => (await open()).server, onReload);
  // Without the engine of the store, runs stay where they are; a call that begins one fails with the reason.
  if (parts.options.runs)
    void open()
      .then(({ pickUpRuns }) => pickUpRuns())
      .catch(() => {});
  return {
    api: {
      workflows: lazily(WORKFLOWS, async () => (await open()).workflows),
      runs: lazily(RUNS, async () => (await open()).runs),
    },
    async close() {
      closing.abort();
      await opened?.then(
        (workflows) => workflows.close(),
        () => {},
      );
    },
  };
}

type Methods = Readonly<Record<string, (...given: never[]) => Promise<unknown>>>;

/** Returns an object whose methods load the object that has them. */
function lazily<T extends object>(names: readonly (keyof T & string)[], load: () => Promise<T>): T {
  const methods = names.map((name) => [
    name,
    async (...given: never[]) => ((await load()) as unknown as Methods)[name]?.(...given),
  ]);
  return Object.fromEntries(methods);
}
