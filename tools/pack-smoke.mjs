// Tests the published package: packs it, checks the tarball, installs it into an empty folder and uses it there.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChild } from './child.mjs';
import { install, ROOT, toolEnvironment } from './install.mjs';

const LIST_TOOLS = `
import { openHeddle } from 'heddle';
import { toOpenAiStrict } from 'heddle/translate';
const heddle = await openHeddle();
try {
  for (const tool of await heddle.tools()) {
    const { value } = toOpenAiStrict({ ...tool.definition, name: tool.name });
    console.log(value.function.name, value.function.strict);
  }
} finally {
  await heddle.close();
}
`;

const READ_SQLITE = `
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteDatabase } from './node_modules/heddle/dist/builtin/database/sqlite/open-sqlite-database.js';
import { openWatchdog } from './node_modules/heddle/dist/process/watchdog.js';
const file = join(import.meta.dirname, 'packed.db');
new DatabaseSync(file).exec("CREATE TABLE t AS SELECT 'from a packed child' AS a");
const watchdog = openWatchdog();
const { signal } = new AbortController();
const database = await openSqliteDatabase({ name: 'packed', type: 'sqlite', database: file, access: 'read' }, signal, { watchdog });
const limits = { maxRows: 1, maxBytes: 1000, timeoutMs: 30_000, signal };
console.log((await database.query({ sql: 'SELECT a FROM t', params: [] }, limits)).rows[0][0]);
await database.close();
watchdog.close();
`;

await install();
const scratch = mkdtempSync(join(tmpdir(), 'heddle-pack-'));
try {
  await smoke();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

async function smoke() {
  // npm pack builds first: see "prepack" in package.json.
  await run(ROOT, ['npm', 'pack', '--silent', '--pack-destination', scratch]);
  const tarball = join(
    scratch,
    readdirSync(scratch).find((name) => name.endsWith('.tgz')),
  );
  await run(ROOT, ['publint', tarball, '--strict']);
  await run(ROOT, ['attw', tarball, '--profile', 'esm-only']);

  const folder = join(scratch, 'project');
  mkdirSync(folder);
  writeFileSync(join(folder, 'hello.txt'), 'Hello from the packed package.\n');
  writeFileSync(join(folder, 'list-tools.mjs'), LIST_TOOLS);
  await run(folder, ['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', tarball]);
  await run(folder, ['npx', '--no', 'heddle', '--version'], { expected: /\d+\.\d+\.\d+/ });
  await run(folder, ['npx', '--no', 'heddle', 'call', 'filesystem.fs_read_file', 'path=hello.txt'], {
    expected: /Hello from the packed/,
  });
  // SQLite runs in a child whose program is a file of the package.
  writeFileSync(join(folder, 'read-sqlite.mjs'), READ_SQLITE);
  await run(folder, ['node', 'read-sqlite.mjs'], { expected: /^from a packed child$/m });
  await run(folder, ['node', 'list-tools.mjs'], { expected: /^mcp__filesystem__fs_read_file true$/m });
  // The guide of the library is one program.
  const guide = readFileSync(join(ROOT, 'docs/guides/library.md'), 'utf8');
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block);
  writeFileSync(join(folder, 'notes.txt'), 'Call Bo.\n');
  writeFileSync(join(folder, 'guide.mts'), blocks.join('\n'));
  // A home folder of its own: the statistics also count the calls of other processes with the same store.
  await run(folder, ['node', 'guide.mts'], { expected: /^planner 2\nwriter 1\n4$/m, home: 'guide-home' });
}

/** Runs a command. Throws with the whole output if the exit code is not 0 or the output does not match. */
async function run(cwd, [command, ...args], { expected = /(?:)/, home = 'home' } = {}) {
  const { code, output } = await runChild(command, args, {
    cwd,
    env: { ...toolEnvironment(), HEDDLE_HOME: join(scratch, home) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (code === 0 && expected.test(output)) return;
  const wanted = code === 0 ? `its output does not match ${expected}` : `exit code ${code}`;
  throw new Error(`${[command, ...args].join(' ')}: ${wanted}\n${output}`);
}
