import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { median, type Ratio, ratioOf, showRatio, table } from './ratios.ts';

export interface StartUpResult {
  readonly name: string;
  readonly milliseconds: readonly number[];
  readonly ratio: Ratio;
}

interface Start {
  readonly name: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

const ROOT = join(import.meta.dirname, '..');
const MIN_RUNS = 15;
const NODE_ALONE = 'node -e 0';

/** Measures whole processes from start to end, in turn: Node alone, then each way to start Heddle. */
export async function runStartUpSuite(reps: number): Promise<readonly StartUpResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const env = { ...process.env, HEDDLE_HOME: join(folder, 'home'), NODE_COMPILE_CACHE: join(folder, 'cache') };
  try {
    const starts = startsIn(folder);
    const times = new Map<Start, number[]>(starts.map((start) => [start, []]));
    for (const start of starts) await timeOf(start, env); // The first run fills the caches.
    for (let run = 0; run < Math.max(reps, MIN_RUNS); run++) {
      for (const [start, list] of times) list.push(await timeOf(start, env));
    }
    const alone = [...times].find(([{ name }]) => name === NODE_ALONE)?.[1] ?? [];
    return [...times].map(([{ name }, list]) => ({ name, milliseconds: list, ratio: ratioOf(list, alone) }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function showStartUpSuite(results: readonly StartUpResult[]): string {
  const rows = results.map(({ name, milliseconds, ratio }) => [
    name,
    showRatio(ratio),
    median(milliseconds).toFixed(0),
  ]);
  const title = `\nStart-up: ratio to \`${NODE_ALONE}\` in the same repetition, median (lowest–highest); ms are context only\n`;
  return title + table([['', 'ratio', 'ms'], ...rows]);
}

function startsIn(folder: string): readonly Start[] {
  const bare = projectIn(folder, 'bare');
  const configured = projectIn(folder, 'configured');
  writeFileSync(join(configured, 'heddle.json'), JSON.stringify({ mcpServers: { other: { command: 'true' } } }));
  const call = ['call', 'filesystem.fs_read_file', 'path=note.txt'];
  const bins = Object.entries({ source: join(ROOT, 'bin', 'heddle'), dist: builtIn(folder) });
  const calls = bins.flatMap(([kind, bin]) =>
    bin === undefined
      ? []
      : [
          { name: `heddle call, ${kind}, no configuration`, args: [bin, ...call], cwd: bare },
          { name: `heddle call, ${kind}, one heddle.json`, args: [bin, ...call], cwd: configured },
        ],
  );
  return [{ name: NODE_ALONE, args: ['-e', '0'], cwd: bare }, ...calls, ...importsOf(bare)];
}

function projectIn(folder: string, name: string): string {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, 'note.txt'), 'A short note.\n');
  return project;
}

/** Copies the built program to a folder without source, because it prefers its source. */
function builtIn(folder: string): string | undefined {
  if (!existsSync(join(ROOT, 'dist', 'cli', 'main.js'))) return undefined;
  const installed = join(folder, 'installed');
  cpSync(join(ROOT, 'bin'), join(installed, 'bin'), { recursive: true });
  symlinkSync(join(ROOT, 'dist'), join(installed, 'dist'));
  return join(installed, 'bin', 'heddle');
}

function importsOf(cwd: string): readonly Start[] {
  const entries = { 'src/index.ts': 'source', 'dist/index.js': 'dist' };
  return Object.entries(entries)
    .filter(([path]) => existsSync(join(ROOT, path)))
    .map(([path, kind]) => {
      const program = `import ${JSON.stringify(pathToFileURL(join(ROOT, path)).href)};`;
      return { name: `import the library, ${kind}`, args: ['--input-type=module', '-e', program], cwd };
    });
}

async function timeOf({ name, args, cwd }: Start, env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${name} ended with code ${code}.`);
  return performance.now() - startedAt;
}
