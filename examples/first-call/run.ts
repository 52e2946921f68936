// Opens Heddle without configuration files and without a database on disk, lists its tools, reads a file through
// all stages, and shows a refusal. Exits non-zero if anything differs from what is written here.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HeddleError, openHeddle, text } from 'heddle';

const folder = await mkdtemp(join(tmpdir(), 'heddle-example-'));
await writeFile(join(folder, 'greeting.txt'), 'Hello from the loom.\n');

const heddle = await openHeddle({ cwd: folder, config: false, store: ':memory:' });
try {
  const tools = await heddle.tools();
  console.log(tools.map(({ name, facts }) => `${name} (${facts.riskLevel} risk)`).join('\n'));
  assert(tools.some(({ name }) => name === 'mcp__filesystem__fs_read_file'));

  const { value, server, latencyMs } = await heddle.call('filesystem.fs_read_file', { path: 'greeting.txt' });
  console.log(text(value).trim(), `(from ${server} in ${latencyMs.toFixed(1)} ms)`);
  assert.equal(text(value), 'Hello from the loom.\n');

  const refused = await heddle.call('filesystem.fs_read_file', { file: 'greeting.txt' }).catch((thrown) => thrown);
  assert(HeddleError.is(refused));
  console.log(`${refused.code}: ${refused.message} ${refused.fix}`);
  assert.equal(refused.code, 'INPUT_INVALID');
} finally {
  await heddle.close();
  await rm(folder, { recursive: true, force: true });
}
