import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type Project, project } from '../e2e/heddle-command.ts';
import { runCommand } from '../house/run-command.ts';
import { ROOT } from '../house/temporary-tree.ts';
import { verifies } from '../requirements.ts';

// Loading each of them takes longer than this call.
const UNNEEDED_PACKAGES = [
  /\/node_modules\/(?!picocolors\/)/,
  /^node:(child_process|dgram|dns|http2?|https|net|readline|stream\/consumers|tls|worker_threads)/,
];
const UNNEEDED_SOURCES = [
  /\/src\/(gateway|console|egress|library|translate)\//,
  /\/src\/builtin\/database\//,
  /\/src\/(agent|workflow|cli\/runs)\//,
  /\/src\/compose\/(runs\/|workflows\/open-workflows\.ts$)/,
  /\/src\/cli\/input\/(ad-hoc-server|ask|ask-elicitation)\.ts$/,
  /\/src\/cli\/commands\/explain-call-error\.ts$/,
  /\/src\/compose\/(doctor|hidden-by)\.ts$/,
  /\/src\/config\/(follow-config|watch-files|hosts\/.*|read\/layer|sources\/managed|schema\/schema)\.ts$/,
  /\/src\/process\/(check-process|pid-namespace|process-group)\.ts$/,
  /\/src\/upstream\/transports\/(connect-(http|ide|sse|stdio|ws)|(http|sse|stdio|ws)-transport)\.ts$/,
  /\/src\/upstream\/(auth|doctor)\//,
];
// The gateway does all this.
const UNNEEDED_FORWARDED = [
  /\/node_modules\/(?!picocolors\/)/,
  /\/src\/(agent|builtin|catalog|cli\/runs|compose|egress|govern|library|process|schema|store|translate|upstream|wire|workflow)\//,
  /\/src\/(heddle|open-heddle)\.ts$/,
  /\/src\/console\/(api|command-api|command-fields|command-prompts|run-routes|starting-servers)\.ts$/,
  /\/src\/config\/(follow-config|watch-files|hosts\/.*|read\/layer|sources\/managed|schema\/schema)\.ts$/,
];
const UNNEEDED = [...UNNEEDED_PACKAGES, ...UNNEEDED_SOURCES];

it('lists only sources that exist', () => {
  const files = globSync('src/**/*.ts', { cwd: ROOT }).map((file) => `/${file}`);
  const sources = [...UNNEEDED_SOURCES, ...UNNEEDED_FORWARDED.slice(1)];
  expect(sources.filter((one) => !files.some((file) => one.test(file)))).toEqual([]);
});

/** Writes down the address of each module that is loaded. */
const recorder = (file: string) => `
  const { appendFileSync } = await import('node:fs');
  (await import('node:module')).registerHooks({
    load(url, context, next) {
      appendFileSync(${JSON.stringify(file)}, url + '\\n');
      return next(url, context);
    },
  });`;

function loadedBy(words: readonly string[], files: Readonly<Record<string, string>>): readonly string[] {
  const cwd = mkdtempSync(join(tmpdir(), 'heddle-start-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  return loadedIn({ folder: cwd, env: { HEDDLE_HOME: join(cwd, 'home'), HOME: `${cwd}-user` } }, words);
}

function loadedIn({ folder: cwd, env }: Pick<Project, 'folder' | 'env'>, words: readonly string[]): readonly string[] {
  const record = join(cwd, 'loaded');
  const preload = `--import=data:text/javascript,${encodeURIComponent(recorder(record))}`;
  const command = [process.execPath, preload, join(ROOT, 'bin', 'heddle'), ...words] as const;
  expect(runCommand(command, { cwd, env })).toEqual({ code: 0, stdout: 'A short note.\n', stderr: '' });
  return readFileSync(record, 'utf8').trim().split('\n');
}

const note = { 'note.txt': 'A short note.\n' };
const call = ['call', 'filesystem.fs_read_file', 'path=note.txt'];
const written = { 'heddle.json': JSON.stringify({ mcpServers: { other: { command: 'true' } } }) };

for (const [where, files] of Object.entries({
  'nothing is configured': note,
  'a server is': { ...note, ...written },
})) {
  verifies('Q5', `a call of a built-in tool loads no unneeded module when ${where}`, () => {
    const loaded = loadedBy(call, files);
    expect(loaded.filter((url) => UNNEEDED.some((one) => one.test(url)))).toEqual([]);
    expect(loaded.some((url) => url.endsWith('/src/builtin/filesystem/read-file.ts'))).toBe(true);
  });
}

verifies('B2', 'a call of a file tool loads no database code, also with a database configured', () => {
  const connections = [{ name: 'shop', type: 'postgres', url: 'postgres://db.example.com/shop' }];
  const configured = { 'heddle.json': JSON.stringify({ builtins: { database: { connections } } }) };
  const loaded = loadedBy([...call, '--trust-project'], { ...note, ...configured });
  expect(
    loaded.filter((url) => /\/src\/builtin\/database\/|\/node_modules\/(pg|mysql2|libpg-query)/.test(url)),
  ).toEqual([]);
});

verifies('Q5', 'a call through a running gateway loads neither the store nor any code for servers', async () => {
  const one = project({ ...note, ...written });
  await one.up();
  const loaded = loadedIn(one, call);
  expect(loaded.filter((url) => UNNEEDED_FORWARDED.some((pattern) => pattern.test(url)))).toEqual([]);
  expect(loaded.some((url) => url.endsWith('/src/cli/remote/remote-heddle.ts'))).toBe(true);
});
