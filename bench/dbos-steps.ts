import { DBOS } from '@dbos-inc/dbos-sdk';

interface DbosLoad {
  readonly url: string;
  readonly runs: number;
  readonly steps: number;
}

const silent = { info() {}, debug() {}, warn() {}, error() {} };
let emptySteps: ((steps: number) => Promise<void>) | undefined;

/** Runs DBOS workflows with empty steps at once, and returns the steps per second. */
export async function measureDbosSteps({ url, runs, steps }: DbosLoad): Promise<number> {
  emptySteps ??= DBOS.registerWorkflow(
    async (count: number) => {
      for (let step = 0; step < count; step++) await DBOS.runStep(async () => step, { name: 'empty' });
    },
    { name: 'empty-steps' },
  );
  DBOS.setConfig({ name: 'heddle-bench', systemDatabaseUrl: url, systemDatabaseSchemaName: 'bench', logger: silent });
  await DBOS.launch();
  try {
    await emptySteps(1);
    const workflow = emptySteps;
    const startedAt = performance.now();
    const handles = Array.from({ length: runs }, () => DBOS.startWorkflow(workflow)(steps));
    await Promise.all(handles.map(async (handle) => (await handle).getResult()));
    return (runs * steps * 1000) / (performance.now() - startedAt);
  } finally {
    await DBOS.shutdown();
  }
}
