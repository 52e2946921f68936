// Runs the workflows of this folder with servers of made-up data. The last one needs an approver, and this program has
// none: the run stops, and takes its first change back. Exits non-zero if anything differs from what is written here.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHeddle } from 'heddle';

const here = import.meta.dirname;
const folder = await mkdtemp(join(tmpdir(), 'heddle-example-'));
const { mcpServers: written, permissions } = JSON.parse(await readFile(join(here, 'heddle.json'), 'utf8'));
// Relative paths in a configuration that a program passes are those of its own working folder.
const args = (name: string) => [join(here, 'demo-server.mjs'), name];
const mcpServers = Object.fromEntries(
  Object.entries<object>(written).map(([name, entry]) => [name, { ...entry, args: args(name) }]),
);
const heddle = await openHeddle({ cwd: here, config: { mcpServers, permissions }, store: join(folder, 'heddle.db') });

/** Runs a workflow and returns its result. */
async function run(name: string, input: Record<string, string>) {
  const result = await heddle.run(name, input);
  console.log(`${name}: ${result.status} after ${result.stepsExecuted} steps`, result.output);
  return result;
}

try {
  for (const name of ['file-contract', 'contract-intake', 'research-digest', 'mitigate-incident']) {
    const file = join(here, `${name}.yaml`);
    await heddle.workflows.register({ file, text: await readFile(file, 'utf8') });
    const { problems } = await heddle.workflows.lint(name);
    assert.deepEqual(problems, []);
  }

  const { output: found } = await run('research-digest', { query: 'journals' });
  assert.deepEqual(found, {
    digest: 'journals: https://docs.example.com/journals, https://docs.example.com/sagas (used 2 of 3 pages)',
    failed: 0, // The page that is gone was skipped, as its step says.
    sources: ['https://docs.example.com/journals', 'https://docs.example.com/sagas', 'https://docs.example.com/gone'],
  });

  const { output: filed } = await run('contract-intake', { uri: 'drive://contracts/7.pdf' });
  assert.deepEqual(filed, { id: 'nda-1' });

  const { error, logs } = await run('mitigate-incident', { service: 'shop' });
  console.log(`${error?.code} at ${error?.path}: ${error?.message}`);
  assert.equal(error?.code, 'APPROVAL_REQUIRED');
  const undone = logs.find(({ path, type }) => path === 'decide/flag/~compensate' && type === 'complete');
  assert(undone, 'The flag was set back.');
} finally {
  await heddle.close();
  await rm(folder, { recursive: true, force: true });
}
